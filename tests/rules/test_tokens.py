"""An estimate is sensible for every script and kind; a counter that fails is not trusted."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model import (
    FilePart,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.rules.tokens import (
    MAX_TOKENS,
    MESSAGE_OVERHEAD,
    count_tokens,
    estimate_parts,
    estimate_text,
)

ENGLISH = (
    "The session layer keeps a conversation as a tree. Nothing that was acknowledged is ever "
    "lost, and reading a long history costs as much as what is shown of it. When a summary is "
    "written, the messages under it stay where they are, so that it can be undone later."
)
PYTHON = """
def place_before(place, lineage_of):
    lineage = lineage_of(place.segment)
    start = lineage[0].depth + 1 if lineage else 1
    if place.depth > start:
        return Place(place.segment, place.depth - 1)
    return lineage[0] if lineage else None
"""
JSON = '{"id":"ord_48151623","items":[{"sku":"A-100","qty":2,"price":19.99}],"paid":true}' * 5
CHINESE = "请问我的订单现在在哪里。我已经等了三天还没有收到任何通知。"
JAPANESE = "注文した商品はいつ届きますか。三日前から連絡がありません。"
KOREAN = "제 주문은 지금 어디에 있나요? 사흘째 아무 연락도 받지 못했습니다."
GERMAN = (
    "Für größere Änderungen müssen wir zunächst prüfen, ob die Verträge dafür überhaupt genügen."
)
RUSSIAN = "Где мой заказ? Я жду уже три дня и не получил ни одного уведомления."
HINDI = "मेरा ऑर्डर कहाँ है? मैं तीन दिन से इंतज़ार कर रहा हूँ।"


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        pytest.param(ENGLISH, 4.0, 5.0, id="English"),
        pytest.param(PYTHON, 2.5, 4.5, id="Python"),
        pytest.param(JSON, 1.8, 3.5, id="JSON without a blank"),
        pytest.param(CHINESE, 0.7, 1.5, id="Chinese"),
        pytest.param(JAPANESE, 0.7, 1.5, id="Japanese"),
        pytest.param(KOREAN, 0.8, 2.0, id="Korean"),
        pytest.param(GERMAN, 2.8, 4.5, id="German"),
        pytest.param(RUSSIAN, 1.5, 3.0, id="Russian"),
        pytest.param(HINDI, 0.7, 2.0, id="Hindi"),
        pytest.param("👍🎉😀🚀" * 10, 0.3, 1.0, id="emoji"),
        pytest.param("3.14159265358979" * 10, 1.5, 3.0, id="digits"),
        pytest.param("a8f5f167f44f4964e6c998dee827110c" * 5, 1.8, 4.0, id="hexadecimal"),
        pytest.param("x" * 5_000, 2.0, 8.0, id="a long word"),
    ],
)
def test_characters_a_token_are_plausible(text: str, least: float, most: float) -> None:
    assert least <= len(text) / estimate_text(text) <= most


def test_28_chinese_characters_are_not_5_tokens() -> None:
    assert len(CHINESE[:28]) == 28
    assert 20 <= estimate_text(CHINESE[:28]) <= 40


def test_5000_characters_without_a_blank_are_not_5_tokens() -> None:
    for letter in ("a", "é", "漢", "한", "{", "7"):
        assert estimate_text(letter * 5_000) > 500


def test_nothing_costs_nothing_and_anything_something() -> None:
    assert estimate_text("") == 0
    for char in ("a", " ", "\n", "é", "漢", "👍", "\x00", "\ud800"):
        assert 1 <= estimate_text(char) <= 2


def test_an_accent_costs_more_than_its_letter_but_less_than_an_ideograph() -> None:
    plain, accent, ideograph = (estimate_text(char * 100) for char in "eé漢")
    assert plain < accent < ideograph < estimate_text("👍" * 100)


@given(st.text(), st.text())
def test_a_text_costs_what_its_halves_cost_but_for_rounding(one: str, other: str) -> None:
    both = estimate_text(one + other)
    apart = estimate_text(one) + estimate_text(other)
    assert max(estimate_text(one), estimate_text(other)) <= both
    assert apart - 1 <= both <= apart


def of(part: Part) -> int:
    return estimate_parts([part]) - MESSAGE_OVERHEAD


def test_a_message_costs_its_frame_and_its_parts() -> None:
    assert estimate_parts([]) == MESSAGE_OVERHEAD > 0
    text, call = (
        TextPart(text=ENGLISH),
        ToolCallPart(call_id="c", name="find", input={"q": CHINESE}),
    )
    assert estimate_parts([text, call]) == MESSAGE_OVERHEAD + of(text) + of(call)


def test_text_and_reasoning_cost_their_text() -> None:
    assert of(TextPart(text=ENGLISH)) == of(ReasoningPart(text=ENGLISH)) == estimate_text(ENGLISH)


def test_a_tool_call_costs_its_name_and_input() -> None:
    call = ToolCallPart(call_id="c", name="find_order", input={"order": "48151623", "q": CHINESE})
    assert estimate_text(CHINESE) + 8 <= of(call) <= estimate_text(CHINESE) + 30


def test_a_tool_result_costs_its_output_as_text_or_as_json() -> None:
    assert of(ToolResultPart(call_id="c", output=ENGLISH)) == estimate_text(ENGLISH)
    rows = [{"n": n, "text": ENGLISH} for n in range(10)]
    cost = of(ToolResultPart(call_id="c", output=rows))
    assert 10 * estimate_text(ENGLISH) <= cost <= 10 * estimate_text(ENGLISH) + 150
    assert of(ToolResultPart(call_id="c", output=None)) <= 2


def test_another_part_costs_its_json() -> None:
    cost = of(OtherPart(value={"type": "citation", "text": ENGLISH}))
    assert estimate_text(ENGLISH) <= cost <= estimate_text(ENGLISH) + 20


@pytest.mark.parametrize(
    ("media_type", "least", "most"),
    [
        ("image/png", 200, 2_000),
        ("audio/wav", 200, 5_000),
        ("video/mp4", 1_000, 20_000),
        ("application/pdf", 500, 10_000),
        ("model/gltf", 100, 2_000),
        ("nonsense", 100, 2_000),
        ("", 100, 2_000),
    ],
)
@pytest.mark.parametrize("data", [None, b"", b"\x89PNG" * 500_000])
def test_media_cost_by_kind_and_not_by_their_bytes(
    media_type: str, least: int, most: int, data: bytes | None
) -> None:
    assert least <= of(FilePart(media_type=media_type, data=data)) <= most


def test_an_inline_text_file_costs_its_text() -> None:
    file = FilePart(media_type="text/plain", data=ENGLISH.encode())
    assert of(file) == estimate_text(ENGLISH)


@given(st.binary())
def test_an_inline_text_file_in_another_encoding_costs_something_too(data: bytes) -> None:
    cost = of(FilePart(media_type="text/plain", data=data))
    assert len(data) / 5 <= cost <= 2 * len(data) + 1


PARTS = [TextPart(text="a")]


def counting(answer: Any) -> Callable[[str, Sequence[Part]], int]:
    return lambda role, parts: answer


def test_a_counter_is_given_the_role_and_the_parts() -> None:
    calls = []

    def counter(role: str, parts: Sequence[Part]) -> int:
        calls.append((role, parts))
        return 17

    assert count_tokens(counter, "user", PARTS) == 17
    assert calls == [("user", PARTS)]


def test_a_counter_may_answer_zero() -> None:
    assert count_tokens(counting(0), "user", PARTS) == 0


def test_without_a_counter_the_estimate_is_used_silently(caplog: pytest.LogCaptureFixture) -> None:
    assert count_tokens(None, "user", PARTS) is None
    assert not caplog.records


@pytest.mark.parametrize(
    "answer", [-1, 1.5, 5.0, float("nan"), True, False, None, "5", [5], MAX_TOKENS + 1]
)
def test_a_nonsensical_count_is_not_used_and_logged(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert count_tokens(counting(answer), "user", PARTS) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert repr(answer) in record.getMessage()


def test_a_counter_that_fails_is_not_used_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def counter(role: str, parts: Sequence[Part]) -> int:
        raise RuntimeError("no vocabulary")

    assert count_tokens(counter, "user", PARTS) is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.exc_info
    assert "no vocabulary" in str(record.exc_info[1])


def test_an_interrupt_inside_a_counter_is_not_swallowed() -> None:
    def counter(role: str, parts: Sequence[Part]) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_tokens(counter, "user", PARTS)

"""Older messages are made short, in their own shape."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.compaction import truncate_older_messages
from sapwood.errors import UsageError
from sapwood.model import Message, ReasoningPart, TextPart, ToolResultPart
from sapwood.testing.strategies import json_values

from .histories import call, result, said, shown, talk

SLACK = 80


def cut(output: Any, limit: int = 500) -> Any:
    """Give a tool output as it is cut in an older message."""
    message = said([ToolResultPart(call_id="a", output=output)], "tool", tokens=1)
    [short] = truncate_older_messages([message], keep_recent=0, max_tool_output_chars=limit)
    [part] = short.parts
    assert isinstance(part, ToolResultPart)
    return part.output


def size(value: Any) -> int:
    return len(value) if isinstance(value, str) else len(msgspec.json.encode(value).decode())


def test_recent_messages_stay_whole() -> None:
    long = said("x" * 50_000)
    messages: list[Message] = [long, *[said("y" * 50_000) for _ in range(4)]]
    short = truncate_older_messages(messages)
    assert short[1:] == messages[1:]
    assert len(short[0].text) == 10_000
    assert truncate_older_messages(messages[1:]) == messages[1:]
    assert long.text == "x" * 50_000


def test_a_text_says_how_many_characters_were_cut() -> None:
    [short] = truncate_older_messages([said("x" * 1_000)], keep_recent=0, max_text_chars=100)
    assert len(short.text) <= 100
    kept = short.text.count("x")
    assert f"[... {1_000 - kept} characters cut ...]" in short.text
    [tiny] = truncate_older_messages([said("y" * 1_000)], keep_recent=0, max_text_chars=10)
    assert tiny.text.count("y") == 10
    assert "990 characters cut" in tiny.text


def test_a_cut_never_makes_it_longer() -> None:
    [same] = truncate_older_messages([said("a" * 30)], keep_recent=0, max_text_chars=10)
    assert same.text == "a" * 30
    assert cut("a" * 20, 10) == "a" * 20
    assert size(cut({"a": "\0" * 9}, 1)) <= 48


def test_model_messages_and_stored_ones_are_cut_alike() -> None:
    stored = said("x" * 20_000)
    [one] = truncate_older_messages([stored], keep_recent=0)
    [other] = truncate_older_messages(shown(stored), keep_recent=0)
    assert type(one) is Message
    assert one.text == other.text
    assert (one.id, one.tokens) == (stored.id, stored.tokens)


def test_what_is_short_is_given_back_itself() -> None:
    messages = [*talk(3), result("a", output={"k": 1}), *talk(4)]
    short = truncate_older_messages([each for each in messages if isinstance(each, Message)])
    assert all(new is old for new, old in zip(short, messages, strict=True))


def test_calls_and_reasoning_stay_as_they_are() -> None:
    parts = [ReasoningPart(text="r" * 20_000), *call("a", input={"x": "y" * 9_000}).parts]
    [message] = truncate_older_messages([said(parts, "assistant")], keep_recent=0)
    assert message.parts == parts


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("x" * 9_000, str),
        ({"a": "x" * 9_000, "b": 1}, dict),
        ([{"row": n, "name": "x" * 50} for n in range(1_000)], list),
        ({f"k{n}": n for n in range(5_000)}, dict),
        ({"a": {"b": {"c": {"d": ["x" * 9_000]}}}}, dict),
        (list(range(100_000)), list),
        ([["x" * 9_000]] * 10, list),
        ({"x" * 9_000: 1}, dict),
        ({'\n\0"' * 3_000: '\n\0"' * 3_000, "b": "\0" * 4_000}, dict),
    ],
)
def test_outputs_keep_their_shape_within_the_limit(output: Any, kind: type) -> None:
    for limit in (1, 40, 100, 500, 3_000):
        short = cut(output, limit)
        assert type(short) is kind
        assert size(short) <= max(limit, 48) + SLACK
        assert "cut" in msgspec.json.encode(short).decode()


def test_small_fields_survive_a_giant_one() -> None:
    short = cut({"status": "ok", "rows": 3, "log": "x" * 9_000, "who": "ada"})
    assert (short["status"], short["rows"], short["who"]) == ("ok", 3, "ada")
    assert len(short["log"]) > 350
    assert short["log"].endswith("characters cut]")


def test_a_giant_text_deep_inside_is_cut_where_it_is() -> None:
    short = cut({"a": [{"b": {"c": "x" * 9_000, "d": 1}}]})
    assert short["a"][0]["b"]["d"] == 1
    assert short["a"][0]["b"]["c"].startswith("x" * 300)


def test_a_list_says_how_many_items_are_missing() -> None:
    short = cut(list(range(1_000)), 200)
    assert short[:3] == [0, 1, 2]
    assert short[-1] == f"[{1_000 - len(short) + 1} more cut]"
    fields = cut({f"key{n}": n for n in range(1_000)}, 200)
    assert fields["key0"] == 0
    assert fields["__cut__"] == f"{1_000 - len(fields) + 1} more"


def test_endless_nesting_is_cut_off() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = {"in": deep}
    short = cut(deep)
    assert type(short) is dict
    assert size(short) <= 500


def test_what_is_no_json_is_left_alone() -> None:
    thing = object()
    assert cut(thing) is thing


@given(json_values, st.integers(1, 300))
def test_any_output_is_cut_to_its_limit_in_its_shape(output: Any, limit: int) -> None:
    short = cut(output, limit)
    assert type(short) is type(output)
    assert size(short) <= max(limit, 48) + SLACK
    assert size(short) <= max(size(output), 48)
    if size(output) <= limit:
        assert short is output
    assert cut(output, limit) == short


@pytest.mark.parametrize("name", ["keep_recent", "max_tool_output_chars", "max_text_chars"])
@pytest.mark.parametrize("value", [-1, 1.5, None, True])
def test_wrong_numbers_are_refused(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=name):
        truncate_older_messages([], **{name: value})


def test_text_parts_are_cut_one_by_one() -> None:
    message = said([TextPart(text="a" * 200), TextPart(text="b")])
    [short] = truncate_older_messages([message], keep_recent=0, max_text_chars=100)
    assert short.parts[1] is message.parts[1]

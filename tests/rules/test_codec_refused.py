"""What is not JSON, or of a wrong type, is refused with its place."""

from __future__ import annotations

from collections import UserDict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import MessageTooLargeError, UsageError
from sapwood.model import (
    FilePart,
    NewMessage,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    part_from_json,
)
from sapwood.rules.codec import Body, encode_json, pack, pack_all, refuse_json
from sapwood.rules.tokens import MAX_TOKENS

from .bodies import json_values, refused, relaxed

NOT_JSON = [
    pytest.param(float("nan"), id="nan"),
    pytest.param(float("inf"), id="infinity"),
    pytest.param(float("-inf"), id="minus infinity"),
    pytest.param({1, 2}, id="set"),
    pytest.param((1, 2), id="tuple"),
    pytest.param((), id="empty tuple"),
    pytest.param(b"raw", id="bytes"),
    pytest.param(datetime(2026, 1, 1, tzinfo=UTC), id="datetime"),
    pytest.param(Decimal("1.5"), id="decimal"),
    pytest.param(UserDict(a=1), id="a mapping that is no dict"),
    pytest.param(TextPart(text="a"), id="struct"),
    pytest.param(msgspec.Raw(b"1"), id="raw JSON"),
    pytest.param(object(), id="object"),
    pytest.param(type("Name", (str,), {})("a"), id="subclass of str"),
    pytest.param("a\ud800b", id="lone surrogate"),
    pytest.param({1: 2}, id="whole number as a key"),
    pytest.param({True: 2}, id="bool as a key"),
    pytest.param({None: 2}, id="None as a key"),
    pytest.param({"\udfff": 2}, id="lone surrogate in a key"),
    pytest.param(10**5000, id="more digits than Python prints"),
]


@pytest.mark.parametrize("bad", NOT_JSON)
def test_what_is_not_json_is_refused_with_its_path(bad: Any) -> None:
    fine = TextPart(text="a")
    nest = {"a": [0, {"b": bad}]}
    assert refused(fine, metadata={"k": nest}).path == "metadata.k.a[1].b"
    assert refused(fine, TextPart(text="b", extra=nest)).path == "parts[1].extra.a[1].b"
    assert refused(ToolCallPart(call_id="c", name="f", input=bad)).path == "parts[0].input"
    assert refused(ToolResultPart(call_id="c", output=[bad])).path == "parts[0].output[0]"
    assert refused(fine, fine, OtherPart(value=nest)).path == "parts[2].value.a[1].b"
    assert refused(part_from_json({"type": "x", "y": bad})).path == "parts[0].value.y"


@pytest.mark.parametrize("bad", NOT_JSON)
def test_an_unknown_field_that_is_not_json_is_refused_with_its_path(bad: Any) -> None:
    error = refused(part_from_json({"type": "text", "text": "a", "y": bad}))
    assert error.path in ("parts[0].extra.y", "parts[0].value.y")


@pytest.mark.parametrize("bad", NOT_JSON)
def test_a_session_s_data_that_is_not_json_is_refused_with_its_path(bad: Any) -> None:
    with pytest.raises(UsageError) as caught:
        encode_json({"a": [bad]}, "data")
    assert caught.value.path == "data.a[0]"


steps = st.lists(st.text(min_size=1) | st.integers(0, 3), max_size=6)


@relaxed
@given(steps, json_values, st.sampled_from([param.values[0] for param in NOT_JSON]))
def test_the_path_leads_to_what_is_not_json(way: list[str | int], beside: Any, bad: Any) -> None:
    value, path = bad, ""
    for step in reversed(way):
        if isinstance(step, str):
            value, path = {step: value, step + "2": beside}, f".{step}{path}"
        else:
            value, path = [beside] * step + [value, beside], f"[{step}]{path}"
    with pytest.raises(UsageError) as caught:
        refuse_json(value, "data")
    assert caught.value.path == "data" + path
    with pytest.raises(UsageError) as caught:
        encode_json(value, "data")
    assert caught.value.path == "data" + path


@relaxed
@given(json_values)
def test_json_is_not_refused(value: Any) -> None:
    refuse_json(value, "data")


def test_the_first_of_several_wrong_places_is_named() -> None:
    bad = float("nan")
    assert refused(metadata={"a": [1, [bad], bad], "b": bad}).path == "metadata.a[1][0]"


@pytest.mark.parametrize(
    ("part", "path"),
    [
        (TextPart(text=5), "text"),  # type: ignore[arg-type]
        (TextPart(text=None), "text"),  # type: ignore[arg-type]
        (TextPart(text=b"a"), "text"),  # type: ignore[arg-type]
        (TextPart(text="a", extra=None), "extra"),  # type: ignore[arg-type]
        (TextPart(text="a", extra=[]), "extra"),  # type: ignore[arg-type]
        (ReasoningPart(text=["a"]), "text"),  # type: ignore[arg-type]
        (ToolCallPart(call_id=1, name="f", input={}), "call_id"),  # type: ignore[arg-type]
        (ToolCallPart(call_id="c", name=None, input={}), "name"),  # type: ignore[arg-type]
        (ToolResultPart(call_id="c", output=1, is_error=0), "is_error"),  # type: ignore[arg-type]
        (ToolResultPart(call_id="c", output=1, is_error=None), "is_error"),  # type: ignore[arg-type]
        (FilePart(media_type=None), "media_type"),  # type: ignore[arg-type]
        (FilePart(media_type="a/b", uri=b"u"), "uri"),  # type: ignore[arg-type]
        (FilePart(media_type="a/b", data="YWJj"), "data"),  # type: ignore[arg-type]
        (FilePart(media_type="a/b", data="not base64"), "data"),  # type: ignore[arg-type]
        (FilePart(media_type="a/b", data=5), "data"),  # type: ignore[arg-type]
        (OtherPart(value=[1]), "value"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_type_in_a_part_is_refused_with_its_path(part: Part, path: str) -> None:
    assert refused(TextPart(text="a"), part).path == f"parts[1].{path}"


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "漢\ud83d"])
def test_a_lone_surrogate_in_plain_text_is_refused_with_its_path(text: str) -> None:
    assert refused(TextPart(text="a"), TextPart(text=text)).path == "parts[1].text"


def test_a_mapping_that_only_equals_an_empty_object_is_refused() -> None:
    assert refused(TextPart(text="a"), metadata=UserDict()).path == "metadata"
    extra: Any = UserDict()
    assert refused(TextPart(text="a", extra=extra)).path == "parts[0].extra"


@pytest.mark.parametrize("part", ["text", {"type": "text", "text": "a"}, None, 5, Body([])])
def test_what_is_no_part_is_refused_with_its_path(part: Any) -> None:
    assert refused(TextPart(text="a"), part).path == "parts[1]"


@pytest.mark.parametrize("metadata", [[], "a", 5, b"", [("a", 1)]])
def test_metadata_is_an_object(metadata: Any) -> None:
    assert refused(metadata=metadata).path == "metadata"


def refused_message(**fields: Any) -> str:
    with pytest.raises(UsageError) as caught:
        pack(NewMessage(**{"role": "user", "parts": [], **fields}), lambda: "made")
    return caught.value.path


def test_a_message_is_refused_with_the_field_that_is_wrong() -> None:
    assert refused_message(parts=None) == "parts"
    assert refused_message(parts=5) == "parts"
    assert refused_message(metadata=None) == "metadata"
    assert refused_message(role="") == "role"
    assert refused_message(role=None) == "role"
    assert refused_message(role="us\ner") == "role"
    assert refused_message(id="") == "message id"
    assert refused_message(id=5) == "message id"
    assert refused_message(id="x" * 257) == "message id"


@pytest.mark.parametrize("tokens", [-1, 1.0, True, "5", MAX_TOKENS + 1, 2**63])
def test_tokens_are_a_whole_number_that_a_store_can_sum(tokens: Any) -> None:
    assert refused_message(tokens=tokens) == "tokens"


def test_what_is_no_message_is_refused() -> None:
    def path(messages: Any) -> str:
        with pytest.raises(UsageError) as caught:
            pack_all(messages, lambda: "made")
        return caught.value.path

    fine = NewMessage(role="user", parts=[])
    assert path([]) == "messages"
    assert path(fine) == "messages"
    assert path(None) == "messages"
    assert path([{"role": "user"}]) == "message"
    assert path([fine, {"role": "user"}]) == "messages[1]"


def test_a_batch_names_the_message_that_is_wrong() -> None:
    fine = NewMessage(role="user", parts=[])
    wrong = NewMessage(role="user", parts=[TextPart(text="\ud800")])
    with pytest.raises(UsageError, match=r"messages\[2\]: parts\[0\]\.text has a lone") as caught:
        pack_all([fine, fine, wrong], lambda: "made")
    assert caught.value.path == "messages[2].parts[0].text"
    with pytest.raises(MessageTooLargeError) as too_large:
        pack_all([fine, NewMessage(role="user", parts=[TextPart(text="a" * 99)])], str, 90)
    assert too_large.value.path == "messages[1]"

"""`part_from_json(value).to_json() == value`, whatever JSON object a client sends."""

from __future__ import annotations

import base64
import json
from collections import UserDict
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood.model import (
    FilePart,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    part_from_json,
)

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)

KINDS = ["text", "reasoning", "tool_call", "tool_result", "file", "other"]
OUR_KEYS = ["type", "text", "call_id", "name", "input", "output", "is_error"]
OUR_KEYS += ["media_type", "uri", "data", "value", "extra"]
base64_oddities = st.sampled_from(
    ["", "YQ==", "YQ", "YR==", "YQ= =", "Y Q==", "YQ==\n", "_-8=", "/+8=", "====", "é"]
) | st.binary().map(lambda data: base64.b64encode(data).decode())
# Objects that look like our parts: our keys, with right and wrong values.
lookalikes = st.dictionaries(
    st.sampled_from(OUR_KEYS) | st.text(max_size=3),
    leaves | base64_oddities | st.sampled_from(KINDS) | json_values,
    max_size=8,
).flatmap(
    lambda value: st.sampled_from(KINDS).map(lambda kind: {**value, "type": kind}) | st.just(value)
)
REQUIRED: dict[str, dict[str, Any]] = {
    "text": {"text": "a"},
    "reasoning": {"text": "a"},
    "tool_call": {"call_id": "c", "name": "f", "input": {"k": [1]}},
    "tool_result": {"call_id": "c", "output": None},
    "file": {"media_type": "image/png"},
}
nearly_ours = st.tuples(st.sampled_from(sorted(REQUIRED)), lookalikes).map(
    lambda pair: {**pair[1], **REQUIRED[pair[0]], "type": pair[0]}
)


def exact(value: Any) -> str:
    """Tell 1, 1.0 and True apart, as == does not."""
    return json.dumps(value, sort_keys=True)


@settings(deadline=None, max_examples=500)
@given(st.dictionaries(st.text(), json_values) | lookalikes | nearly_ours)
@example({})
@example({"type": None})
@example({"type": ["text"]})
@example({"type": "text"})
@example({"type": "text", "text": 5})
@example({"type": "text", "text": "a", "extra": {"extra": 1}})
@example({"type": "text", "text": "a", "extra": None})
@example({"type": "other", "value": {"a": 1}})
@example({"type": "tool_result", "call_id": "c", "output": 1, "is_error": False})
@example({"type": "tool_result", "call_id": "c", "output": 1, "is_error": 0})
@example({"type": "tool_result", "call_id": "c", "output": 1, "is_error": 1})
@example({"type": "file", "media_type": "a/b", "uri": None, "data": None, "name": None})
@example({"type": "file", "media_type": "a/b", "uri": "", "data": "", "name": ""})
@example({"type": "file", "media_type": "a/b", "data": "YR=="})
@example({"type": "file", "media_type": "a/b", "data": "YQ"})
@example({"type": "tool_call", "call_id": "c", "name": "f", "input": {}, "id": 2**70})
def test_a_clients_json_object_comes_out_as_it_went_in(value: dict[str, Any]) -> None:
    before = exact(value)
    assert exact(part_from_json(value).to_json()) == before
    assert exact(value) == before, "the client's object was changed"


@settings(deadline=None)
@given(lookalikes | nearly_ours)
def test_a_part_is_the_same_after_json_and_back(value: dict[str, Any]) -> None:
    part = part_from_json(value)
    assert part_from_json(part.to_json()) == part


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"type": "text", "text": "a"}, TextPart(text="a")),
        ({"type": "reasoning", "text": "a"}, ReasoningPart(text="a")),
        (
            {"type": "tool_call", "call_id": "c", "name": "f", "input": [1]},
            ToolCallPart(call_id="c", name="f", input=[1]),
        ),
        (
            {"type": "tool_result", "call_id": "c", "output": 1},
            ToolResultPart(call_id="c", output=1),
        ),
        (
            {"type": "tool_result", "call_id": "c", "output": 1, "is_error": True},
            ToolResultPart(call_id="c", output=1, is_error=True),
        ),
        (
            {"type": "file", "media_type": "a/b", "uri": "x:y", "data": "YQ==", "name": "n"},
            FilePart(media_type="a/b", uri="x:y", data=b"a", name="n"),
        ),
        (
            {"type": "file", "media_type": "a/b", "uri": "", "data": "", "name": ""},
            FilePart(media_type="a/b", uri="", data=b"", name=""),
        ),
        ({"type": "citation", "url": "x"}, OtherPart(value={"type": "citation", "url": "x"})),
    ],
)
def test_json_that_we_know_is_typed(value: dict[str, Any], part: Part) -> None:
    assert part_from_json(value) == part
    assert part.to_json() == value


def test_fields_that_we_do_not_know_stay_with_a_known_part() -> None:
    value = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}, "extra": 5}
    part = part_from_json(value)
    assert part == TextPart(text="a", extra={"cache_control": {"type": "ephemeral"}, "extra": 5})


def test_a_default_that_was_spelt_out_is_spelt_out_again() -> None:
    value = {"type": "tool_result", "call_id": "c", "output": 1, "is_error": False}
    part = part_from_json(value)
    assert isinstance(part, ToolResultPart)
    assert part.is_error is False
    assert part.to_json() == value


def test_a_field_that_was_changed_later_is_not_hidden_by_its_spelling() -> None:
    value = {"type": "tool_result", "call_id": "c", "output": 1, "is_error": False}
    failed = msgspec.structs.replace(part_from_json(value), is_error=True)
    assert failed.to_json() == {**value, "is_error": True}
    assert TextPart(text="a", extra={"type": "b", "text": "c"}).to_json() == {
        "type": "text",
        "text": "a",
    }


def test_what_only_looks_like_ours_is_carried_unchanged() -> None:
    for value in (
        {"type": "text", "text": ["a"]},
        {"type": "text"},
        {"type": "file", "media_type": "a/b", "data": "not base64"},
        {"type": "tool_call", "call_id": "c"},
        {"type": ["text"], "text": "a"},
        {"text": "a"},
    ):
        assert part_from_json(value) == OtherPart(value=value)


def test_any_mapping_is_read() -> None:
    value = {"type": "text", "text": "a", "k": 1}
    for mapping in (MappingProxyType(value), UserDict(value)):
        assert part_from_json(mapping) == TextPart(text="a", extra={"k": 1})


@pytest.mark.parametrize("odd", [object(), {1, 2}, (1,), b"raw", float("nan"), {1: 2}, "\ud800"])
def test_what_is_not_json_is_carried_to_where_it_is_refused(odd: Any) -> None:
    for value in ({"type": "text", "text": "a", "k": odd}, {"type": "odd", "k": odd}):
        part = part_from_json(value)
        assert isinstance(part, (TextPart, OtherPart))
        inner = part.value if isinstance(part, OtherPart) else part.extra
        assert inner["k"] is odd


def test_deep_nesting_is_carried_to_where_it_is_refused() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    part = part_from_json({"type": "text", "text": "a", "deep": deep})
    assert isinstance(part, OtherPart)
    assert part.value["deep"] is deep


def test_a_part_s_json_is_the_caller_s_own() -> None:
    part = TextPart(text="a", extra={"k": {"list": [1]}})
    part.to_json()["k"]["list"].append(2)
    assert part.extra == {"k": {"list": [1]}}
    other = OtherPart(value={"k": {"list": [1]}})
    other.to_json()["new"] = 1
    assert other.value == {"k": {"list": [1]}}


def test_parts_do_not_share_their_extra_fields() -> None:
    TextPart(text="a").extra["k"] = 1
    assert TextPart(text="b").extra == {}

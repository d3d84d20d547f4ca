"""What a client puts in comes out equal, up to the size that a message may have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.errors import MessageTooLargeError
from sapwood.model import NewMessage, Part, TextPart, ToolCallPart, ToolResultPart, part_from_json
from sapwood.rules.codec import decode_body, decode_json, encode_json, pack, pack_all
from sapwood.rules.tokens import estimate_parts

from .bodies import exact, json_objects, json_values, packed, parts, relaxed


@relaxed
@given(st.lists(parts, max_size=4), json_objects)
def test_a_stored_message_is_read_back_equal(given_parts: list[Part], metadata: Any) -> None:
    body = decode_body(packed(*given_parts, metadata=metadata).body, "m")
    assert body.parts == given_parts
    assert [type(part) for part in body.parts] == [type(part) for part in given_parts]
    assert exact(body.metadata) == exact(metadata)
    assert exact([part.to_json() for part in body.parts]) == exact(
        [part.to_json() for part in given_parts]
    )


@relaxed
@given(json_values)
@example(2**64)
@example(-(2**63) - 1)
@example(10**4000)
@example(-0.0)
@example(5e-324)
@example(1.7976931348623157e308)
@example("\x00\x1f\x7f\u2028\ufeff\uffff\U0010ffff é e\u0301 한 漢 👩‍👩‍👧")
@example({"": {"\x00": []}})
@example({"type": "text", "text": 5, "extra": {"extra": 1}})
def test_json_is_stored_as_it_is(value: Any) -> None:
    assert exact(decode_json(encode_json(value, "data"), "data")) == exact(value)
    call = ToolCallPart(call_id="c", name="f", input=value)
    (stored,) = decode_body(packed(call, metadata={"v": value}).body, "m").parts
    assert isinstance(stored, ToolCallPart)
    assert exact(stored.input) == exact(value)


@relaxed
@given(json_objects, st.sampled_from(["text", "reasoning", "tool_call", "tool_result", "file"]))
def test_a_clients_json_object_is_stored_as_it_is(value: Any, kind: str) -> None:
    for sent in (value, {**value, "type": kind}):
        (stored,) = decode_body(packed(part_from_json(sent)).body, "m").parts
        assert exact(stored.to_json()) == exact(sent)


def test_a_message_keeps_an_id_and_tokens_or_gets_them() -> None:
    part = TextPart(text="Where is my order?")
    given_both = packed(part, tokens=17)
    assert (given_both.id, given_both.tokens) == ("m", 17)
    given_none = packed(part, id=None)
    assert (given_none.id, given_none.tokens) == ("made", estimate_parts([part]))
    assert packed(part, tokens=0).tokens == 0


@relaxed
@given(st.lists(parts, max_size=2), st.sampled_from([{}, {"a": 1}]))
def test_tokens_are_estimated_by_the_parts_alone(given_parts: list[Part], metadata: Any) -> None:
    assert packed(*given_parts, metadata=metadata).tokens == estimate_parts(given_parts)


@pytest.mark.parametrize("call_id", ["c", 'a "quoted" \\ one', "ключ", "\n\u2028"])
@pytest.mark.parametrize(
    "output", [None, 5, "text", [], {}, {"output": {"a": "é 中 😀 \n"}}, [[1.5]]]
)
@pytest.mark.parametrize("more", [{}, {"is_error": True}, {"extra": {"a": ',"output":'}}])
def test_a_tool_result_is_estimated_by_what_the_tool_answered(
    call_id: str, output: Any, more: dict[str, Any]
) -> None:
    part = ToolResultPart(call_id=call_id, output=output, **more)
    assert packed(part).tokens == estimate_parts([part])


def test_only_an_id_made_here_is_ours() -> None:
    assert packed(id=None).is_ours
    assert not packed(id="m").is_ours


def test_a_batch_is_packed_in_order() -> None:
    batch = [NewMessage(role="user", parts=[], id=id) for id in "cab"]
    assert [message.id for message in pack_all(batch, lambda: "made")] == ["c", "a", "b"]
    assert [message.id for message in pack_all(tuple(batch), lambda: "made")] == ["c", "a", "b"]


def test_a_message_larger_than_the_limit_is_refused() -> None:
    message = NewMessage(role="user", parts=[TextPart(text="é" * 50)])
    size = len(pack(message, lambda: "made").body)
    assert pack(message, lambda: "made", size).id == "made"
    with pytest.raises(MessageTooLargeError, match=f"has {size} bytes and the limit is {size - 1}"):
        pack(message, lambda: "made", size - 1)


def test_a_message_is_at_most_8_mib_by_default() -> None:
    with pytest.raises(MessageTooLargeError) as caught:
        packed(TextPart(text="a" * (8 * 1024 * 1024)))
    assert caught.value.path == "message"
    assert packed(TextPart(text="a" * (8 * 1024 * 1024 - 100))).id == "m"

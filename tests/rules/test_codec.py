"""What a client puts in comes out equal, up to the size that a message may have."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.errors import MessageTooLargeError
from sapwood.model import (
    FilePart,
    NewMessage,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    part_from_json,
)
from sapwood.rules.codec import (
    Body,
    decode_body,
    decode_json,
    encode_json,
    keeping_extra,
    pack,
    pack_all,
)
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


@pytest.mark.parametrize("data", [b"", b"\0", b"\x89PNG\r\n\0\xff" * 1_000])
def test_the_bytes_of_a_file_are_stored_as_they_are(data: bytes) -> None:
    file = FilePart(media_type="image/png", data=data)
    body = packed(TextPart(text="a\0"), file, file).body
    assert body.count(data) >= 2
    assert len(body) < 2 * len(data) + 200
    assert decode_body(body, "m").parts == [TextPart(text="a\0"), file, file]


def test_a_message_without_bytes_is_stored_as_json_alone() -> None:
    body = packed(TextPart(text="a\0"), FilePart(media_type="a/b", uri="s3://a")).body
    assert json.loads(body) == {
        "parts": [
            {"type": "text", "text": "a\0"},
            {"type": "file", "media_type": "a/b", "uri": "s3://a"},
        ]
    }


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_kinds_of_bytes_are_stored_as_bytes(kind: Any) -> None:
    body = packed(FilePart(media_type="a/b", data=kind(b"\0x"))).body
    assert body == packed(FilePart(media_type="a/b", data=b"\0x")).body


def test_a_file_counts_with_its_bytes_as_they_are() -> None:
    file = FilePart(media_type="image/png", data=b"\xff" * (8 * 1024 * 1024 - 100))
    assert decode_body(packed(file).body, "m").parts == [file]
    with pytest.raises(MessageTooLargeError):
        packed(file, file)


def test_a_message_that_keeps_its_extra_keeps_its_file() -> None:
    file = FilePart(media_type="a/b", data=b"\0x")
    kept = keeping_extra(packed(file), {"k": 1})
    assert decode_body(kept.body, "m") == Body([file], extra={"k": 1})
    with pytest.raises(MessageTooLargeError):
        keeping_extra(packed(file), {"k": "x" * 8 * 1024 * 1024})

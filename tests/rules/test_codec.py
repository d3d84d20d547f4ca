"""What a client puts in comes out equal; what cannot is told, with its place."""

from __future__ import annotations

import json
import random
from collections import UserDict
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood.errors import MessageTooLargeError, StoreCorruptError, UsageError
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
from sapwood.rules.codec import (
    MAX_NESTING,
    Body,
    Packed,
    decode_body,
    decode_json,
    digest,
    encode_json,
    pack,
    pack_all,
    refuse_json,
)
from sapwood.rules.tokens import MAX_TOKENS, estimate_parts

relaxed = settings(deadline=None, max_examples=max(150, settings().max_examples))

numbers = (
    st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
)
leaves = st.none() | st.booleans() | numbers | st.text()
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
json_objects = st.dictionaries(st.text(), json_values, max_size=4)
parts = st.one_of(
    st.builds(TextPart, text=st.text(), extra=json_objects),
    st.builds(ReasoningPart, text=st.text(), extra=json_objects),
    st.builds(ToolCallPart, call_id=st.text(), name=st.text(), input=json_values),
    st.builds(ToolResultPart, call_id=st.text(), output=json_values, is_error=st.booleans()),
    st.builds(
        FilePart,
        media_type=st.text(),
        uri=st.none() | st.text(),
        data=st.none() | st.binary(),
        name=st.none() | st.text(),
        extra=json_objects,
    ),
    st.builds(OtherPart, value=json_objects),
)


def exact(value: Any) -> str:
    """Tell 1, 1.0 and True apart, as == does not; key order does not count."""
    return json.dumps(value, sort_keys=True)


def packed(
    *parts: Any, metadata: Any = None, role: str = "user", id: str | None = "m", **more: Any
) -> Packed:
    message = NewMessage(
        role=role, parts=list(parts), metadata={} if metadata is None else metadata, id=id, **more
    )
    return pack(message, lambda: "made")


def nested(levels: int) -> Any:
    """Lists and objects inside each other, in turn."""
    value: Any = {}
    for level in range(levels - 1):
        value = [value] if level % 2 else {"k": value}
    return value


# What goes in comes out


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


def test_only_an_id_made_here_is_ours() -> None:
    assert packed(id=None).is_ours
    assert not packed(id="m").is_ours


def test_a_batch_is_packed_in_order() -> None:
    batch = [NewMessage(role="user", parts=[], id=id) for id in "cab"]
    assert [message.id for message in pack_all(batch, lambda: "made")] == ["c", "a", "b"]
    assert [message.id for message in pack_all(tuple(batch), lambda: "made")] == ["c", "a", "b"]


# What is not JSON

CYCLE: list[Any] = []
CYCLE.append(CYCLE)

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


def refused(*parts: Any, **more: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        packed(*parts, **more)
    return caught.value


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


# Nesting


def test_nesting_up_to_the_limit_is_stored() -> None:
    deep = nested(MAX_NESTING)
    assert decode_json(encode_json(deep, "data"), "data") == deep
    body = decode_body(
        packed(OtherPart(value=nested(MAX_NESTING)), metadata={"a": nested(MAX_NESTING - 1)}).body,
        "m",
    )
    assert body.metadata["a"] == nested(MAX_NESTING - 1)


@pytest.mark.parametrize("levels", [MAX_NESTING + 1, 900, 5_000, 100_000])
def test_deeper_nesting_is_refused_with_its_path_on_every_interpreter(levels: int) -> None:
    deep = nested(levels)
    assert refused(metadata={"a": [0, deep]}).path.startswith("metadata.a[1]")
    assert refused(ToolCallPart(call_id="c", name="f", input=deep)).path.startswith(
        "parts[0].input"
    )
    sent = {"type": "text", "text": "a", "deep": deep}
    assert refused(part_from_json(sent)).path.startswith("parts[0].")
    with pytest.raises(UsageError, match="nested more than 500 levels") as caught:
        encode_json({"a": deep}, "data")
    assert caught.value.path.startswith("data.a")
    assert len(str(caught.value)) < 200


def test_many_brackets_are_not_deep_nesting() -> None:
    wide = {"rows": [{"cells": [[]]} for _ in range(1_000)], "text": "[{" * 1_000}
    assert decode_body(packed(metadata=wide).body, "m").metadata == wide


def test_a_value_that_contains_itself_is_refused() -> None:
    assert refused(metadata={"a": CYCLE}).path.startswith("metadata.a[0]")
    tangle: dict[str, Any] = {}
    tangle.update(a=tangle, b=tangle)
    assert refused(OtherPart(value=tangle)).path.startswith("parts[0].value.a.a")


def test_the_deepest_message_is_read_from_deep_within_a_program() -> None:
    data = packed(metadata=nested(MAX_NESTING)).body

    def descend(frames: int) -> Body:
        return descend(frames - 1) if frames else decode_body(data, "m")

    assert descend(200).metadata == nested(MAX_NESTING)


# Size


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


# Digests


def shuffled(value: Any, chance: random.Random) -> Any:
    """Give the same JSON with its keys in another order."""
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    if isinstance(value, dict):
        items = [(key, shuffled(item, chance)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    return value


@relaxed
@given(json_objects, json_objects, st.randoms(use_true_random=False))
def test_a_digest_does_not_depend_on_the_order_of_keys(
    value: Any, metadata: Any, chance: random.Random
) -> None:
    for sent in (value, {**value, "type": "text", "text": "a"}):
        one = packed(part_from_json(sent), metadata=metadata)
        again = packed(part_from_json(shuffled(sent, chance)), metadata=shuffled(metadata, chance))
        assert one.digest == again.digest


small = st.sampled_from(["", "a", "b", '"', "\\", "\x00", "1"])
small_objects = st.dictionaries(small, small | st.integers(0, 1), max_size=2)
messages = st.tuples(
    st.sampled_from(["user", "assistant", "a"]),
    st.lists(
        st.builds(TextPart, text=small, extra=small_objects)
        | st.builds(ReasoningPart, text=small)
        | st.builds(ToolResultPart, call_id=small, output=small, is_error=st.booleans())
        | st.builds(OtherPart, value=small_objects),
        max_size=2,
    ),
    small_objects,
)


@settings(deadline=None, max_examples=400)
@given(messages, messages)
def test_a_digest_is_the_same_exactly_for_the_same_content(one: Any, other: Any) -> None:
    same = one == other
    digests = [digest(role, Body(parts, metadata)) for role, parts, metadata in (one, other)]
    assert (digests[0] == digests[1]) == same


plain_text = st.lists(st.builds(TextPart, text=st.text()), max_size=3)


@relaxed
@given(plain_text | st.lists(parts, max_size=3), st.just({}) | json_objects)
def test_a_digest_is_that_of_what_is_stored(given_parts: list[Part], metadata: Any) -> None:
    one = packed(*given_parts, metadata=metadata)
    assert one.digest == digest("user", Body(given_parts, metadata))
    assert one.digest == digest("user", decode_body(one.body, "m"))


def test_a_digest_tells_role_parts_and_metadata_apart() -> None:
    part = TextPart(text="a")
    variants = [
        packed(part),
        packed(part, role="assistant"),
        packed(part, part),
        packed(),
        packed(TextPart(text="aa")),
        packed(ReasoningPart(text="a")),
        packed(TextPart(text="a", extra={"k": 1})),
        packed(TextPart(text="a", extra={"k": 1.0})),
        packed(TextPart(text="a", extra={"k": True})),
        packed(part, metadata={"k": 1}),
        packed(part, metadata={"k": "1"}),
        packed(part, metadata={"k": [1, 2]}),
        packed(part, metadata={"k": [2, 1]}),
    ]
    assert len({variant.digest for variant in variants}) == len(variants)


def test_a_digest_does_not_compare_id_or_tokens() -> None:
    part = TextPart(text="a")
    assert packed(part, id="one", tokens=1).digest == packed(part, id="two", tokens=2).digest


def test_a_digest_is_the_same_in_every_process_and_version() -> None:
    body = Body([TextPart(text="é"), ToolCallPart(call_id="c", name="f", input={"b": 1, "a": 2.5})])
    assert digest("user", body).hex() == "3455985ff431a0b7177ac3201e127217"


# What is stored but cannot be read


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"parts":5}',
        b'{"parts":[{"type":"unheard of"}]}',
        b'{"parts":[{"type":"text"}]}',
        b'{"parts":[{"type":"text","text":"\xff"}]}',
        b'{"parts":[{"type":"file","media_type":"a","data":"%"}]}',
        b'{"parts":[],"metadata":[]}',
        b'{"parts":[]}trailing',
        b'{"parts":[],"metadata":{"a":' + b"[" * 100_000,
        b"\x00\x01\x02",
        None,
    ],
)
def test_a_body_that_cannot_be_decoded_is_corrupt_and_named(data: Any) -> None:
    with pytest.raises(StoreCorruptError, match="message m-17 "):
        decode_body(data, "m-17")


@pytest.mark.parametrize("data", [b"", b"{", b'"\xff"', b"nan", b"[" * 100_000, None])
def test_json_that_cannot_be_decoded_is_corrupt_and_named(data: Any) -> None:
    with pytest.raises(StoreCorruptError, match="data of session s-1 "):
        decode_json(data, "data of session s-1")


@relaxed
@given(st.binary() | st.text().map(str.encode))
def test_a_damaged_body_is_never_another_error(data: bytes) -> None:
    with suppress(StoreCorruptError):
        decode_body(data, "m-17")

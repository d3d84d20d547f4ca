"""A digest tells content apart, and nothing else."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
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
from sapwood.rules.codec import Body, decode_body, digest

from .bodies import json_objects, packed, parts, relaxed


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
        packed(part, name="a"),
        packed(part, name="b"),
        packed(part, metadata={"name": "a"}),
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
    named = Body(body.parts, {}, {"n": 1}, "Ann")
    assert digest("user", named) == digest("user", Body(body.parts, name="Ann"))
    assert digest("user", named).hex() == "a22836478a13e933e9fe5e657de8ad47"


def test_a_given_digest_stands_in_place_of_the_content() -> None:
    part = TextPart(text="a")
    assert packed(part, digest=b"d").digest == packed(digest=b"d", name="Ann").digest == b"d"


def test_the_digest_of_a_file_is_that_of_earlier_versions() -> None:
    file = FilePart(media_type="image/png", data=b"\0\xffabc")
    one = packed(TextPart(text="a"), file, metadata={"k": 1})
    assert one.digest.hex() == "37fad1bcf29eb7f22148ea7c01f63df4"
    earlier = (
        b'{"parts":[{"type":"text","text":"a"},{"type":"file","media_type":"image/png",'
        b'"data":"AP9hYmM="}],"metadata":{"k":1}}'
    )
    assert digest("user", decode_body(earlier, "m")) == one.digest

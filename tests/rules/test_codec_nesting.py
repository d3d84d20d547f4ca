"""What is nested is stored up to a depth that every interpreter can read."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import UsageError
from sapwood.model import OtherPart, ToolCallPart, part_from_json
from sapwood.rules.codec import MAX_NESTING, Body, decode_body, decode_json, encode_json

from .bodies import packed, refused


def nested(levels: int) -> Any:
    """Lists and objects inside each other, in turn."""
    value: Any = {}
    for level in range(levels - 1):
        value = [value] if level % 2 else {"k": value}
    return value


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
    cycle: list[Any] = []
    cycle.append(cycle)
    assert refused(metadata={"a": cycle}).path.startswith("metadata.a[0]")
    tangle: dict[str, Any] = {}
    tangle.update(a=tangle, b=tangle)
    assert refused(OtherPart(value=tangle)).path.startswith("parts[0].value.a.a")


def test_the_deepest_message_is_read_from_deep_within_a_program() -> None:
    data = packed(metadata=nested(MAX_NESTING)).body

    def descend(frames: int) -> Body:
        return descend(frames - 1) if frames else decode_body(data, "m")

    assert descend(200).metadata == nested(MAX_NESTING)

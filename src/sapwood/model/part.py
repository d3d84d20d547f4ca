"""The parts of a message: what a client says, typed where we know it and unchanged where not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec


class _PartBase(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True, gc=False
):
    """What all parts share: fields that we do not know stay in `extra`, and come out again."""

    optional: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the part as the plain JSON object that a client would write."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        extra = plain.pop("extra", {})
        return {**plain, **extra, **plain}


class TextPart(_PartBase, frozen=True, kw_only=True, tag="text", gc=False):
    """Text that somebody said."""

    text: str
    extra: dict[str, Any] = {}


class ReasoningPart(_PartBase, frozen=True, kw_only=True, tag="reasoning", gc=False):
    """What the model thought before it answered."""

    text: str
    extra: dict[str, Any] = {}


class ToolCallPart(_PartBase, frozen=True, kw_only=True, tag="tool_call", gc=False):
    """A tool that the model asks for; `call_id` ties the result to it."""

    call_id: str
    name: str
    input: Any
    extra: dict[str, Any] = {}


class ToolResultPart(_PartBase, frozen=True, kw_only=True, tag="tool_result", gc=False):
    """What a tool answered."""

    optional: ClassVar[tuple[str, ...]] = ("is_error",)

    call_id: str
    output: Any
    is_error: bool = False
    extra: dict[str, Any] = {}


class FilePart(_PartBase, frozen=True, kw_only=True, tag="file", gc=False):
    """A file: by reference (`uri`) or as inline bytes (`data`)."""

    optional: ClassVar[tuple[str, ...]] = ("uri", "data", "name")

    media_type: str
    uri: str | None = None
    data: bytes | None = None
    name: str | None = None
    extra: dict[str, Any] = {}


# Its one field may be given without its name: it wraps whatever object is given.
class OtherPart(_PartBase, frozen=True, tag="other", gc=False):
    """Any other JSON object, carried unchanged."""

    value: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the object as it came in."""
        return dict(self.value)


Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | FilePart | OtherPart

_BY_TYPE: dict[str, type[Part]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "tool_call": ToolCallPart,
    "tool_result": ToolResultPart,
    "file": FilePart,
}


def part_from_json(value: Mapping[str, Any]) -> Part:
    """Read a client's JSON object as a part; `to_json()` of the result equals the input.

    An object that is not one of ours, or that only looks like one, becomes an `OtherPart`.
    """
    kind = value.get("type")
    known = _BY_TYPE.get(kind) if isinstance(kind, str) else None
    if known is None:
        return OtherPart(value=dict(value))
    names = [name for name in known.__struct_fields__ if name != "extra"]
    fields = {name: value[name] for name in names if name in value}
    # An optional field that was spelt out with its default would be left out again when
    # written: it is kept as an extra field, too.
    spelt_out = {
        n: v for n, v in fields.items() if n in known.optional and (v is None or v is False)
    }
    unknown = {n: v for n, v in value.items() if n not in fields and n != "type"}
    try:
        part = msgspec.convert({"type": kind, **fields}, known)
        part = msgspec.structs.replace(part, extra={**spelt_out, **unknown})
        # Base64 has spellings that decode alike and do not come out alike.
        same = part.to_json() == value
    except (msgspec.ValidationError, TypeError, RecursionError):
        same = False
    return part if same else OtherPart(value=dict(value))

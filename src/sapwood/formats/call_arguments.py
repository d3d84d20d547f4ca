"""Arguments of a tool call that a format has as a string, which need not be JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import UsageError
from ..model import ToolCallPart
from ..rules.codec import encode_json
from .unmapped_fields import part_rest, same

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def _parsed(raw: str) -> tuple[Any, str]:
    """Read arguments, and return with them how they would be written.

    An empty string is no arguments, and what is not JSON stays a string.
    """
    if not raw.strip():
        return {}, "{}"
    try:
        value = _decode(raw)
        return value, encode_json(value, "arguments").decode() if value is not None else "{}"
    except (msgspec.MsgspecError, UsageError, ValueError, RecursionError):
        return raw, _encode(raw).decode()


def call_of(call_id: str, name: str, raw: str, format: str) -> ToolCallPart:
    """Make a call; the arguments as they were written are kept where they could be otherwise."""
    input, plain = _parsed(raw)
    if plain == raw:
        return ToolCallPart(call_id=call_id, name=name, input=input)
    return ToolCallPart(call_id=call_id, name=name, input=input, extra={format: {"raw": raw}})


def written(part: ToolCallPart, format: str) -> str:
    """Write the arguments of a call: as they were, unless they were changed since."""
    raw = part_rest(part, format).get("raw")
    if isinstance(raw, str) and same(_parsed(raw)[0], part.input):
        return raw
    return "{}" if part.input is None else _encode(part.input).decode()


def as_object(value: Any) -> dict[str, Any]:
    """Return the input of a call as an object, for a format that takes nothing else."""
    if isinstance(value, dict):
        return value
    return {} if value is None else {"value": value}

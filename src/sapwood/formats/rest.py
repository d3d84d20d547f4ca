"""What a format says beyond our fields: kept beside a part or a message, and put back.

A rest is kept under the format's name, in `extra` of a part or in `metadata` of a message. It is
the difference between what would be written and what was given: `set`, `drop`, and `within` for
objects in objects. So what is written again is what was given, and a part that was changed since
is written as changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from ..model import FilePart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart

Json = dict[str, Any]
Typed = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | FilePart
AnyTyped = TypeVar("AnyTyped", bound=Typed)

NAMES = ("openai_chat", "openai_responses", "anthropic", "ai_sdk")

_encode = msgspec.json.Encoder(order="deterministic").encode


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON; Python takes 1, 1.0 and True for one."""
    return one is other or _encode(one) == _encode(other)


def difference(made: Mapping[str, Any], given: Mapping[str, Any]) -> Json:
    """Give what has to be done to what was made, so that it is what was given."""
    put: Json = {}
    within: Json = {}
    for key, value in given.items():
        if key not in made:
            put[key] = value
        elif not same(made[key], value):
            if isinstance(made[key], dict) and isinstance(value, dict):
                within[key] = difference(made[key], value)
            else:
                put[key] = value
    drop = [key for key in made if key not in given]
    return {name: it for name, it in (("set", put), ("drop", drop), ("within", within)) if it}


def restore(made: Json, rest: Mapping[str, Any]) -> Json:
    """Do what `difference` said."""
    if not rest:
        return made
    drop, put, within = rest.get("drop"), rest.get("set"), rest.get("within")
    if isinstance(drop, list):
        made = {key: value for key, value in made.items() if key not in drop}
    if isinstance(within, dict):
        inner = {k: restore(made[k], v) for k, v in within.items() if isinstance(made.get(k), dict)}
        made = {**made, **inner}
    return {**made, **put} if isinstance(put, dict) else made


def rest_of(holder: Mapping[str, Any], name: str) -> Json:
    """Give the rest that a format keeps in `extra` or `metadata`."""
    rest = holder.get(name)
    return rest if isinstance(rest, dict) else {}


def part_rest(part: Part, name: str) -> Json:
    """Give the rest that a format keeps beside a part."""
    return rest_of(part.extra, name) if isinstance(part, Typed) else {}


def kind_of(part: Part, name: str) -> str | None:
    """Give the type that a format calls a part by, when it is not the one it would choose."""
    kind = part_rest(part, name).get("type")
    return kind if isinstance(kind, str) else None


def with_rest(part: AnyTyped, name: str, rest: Mapping[str, Any]) -> AnyTyped:
    """Add to the rest that a format keeps beside a part."""
    if not rest:
        return part
    whole = {**rest_of(part.extra, name), **rest}
    return msgspec.structs.replace(part, extra={**part.extra, name: whole})


def keep(part: AnyTyped, name: str, given: Json, write: Callable[[AnyTyped], Json]) -> AnyTyped:
    """Keep beside a part what was given and would not be written of it."""
    return with_rest(part, name, difference(write(part), given))

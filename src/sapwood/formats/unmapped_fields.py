"""What a format says beyond our fields, kept and put back; what it cannot say, said as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

import msgspec

from ..errors import UsageError
from ..model import FilePart, OtherPart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from ..rules.text import json_text
from ..rules.wording import counted
from .files import text_of

Json = dict[str, Any]
Reasoning = Literal["text", "omit"]
AnyTyped = TypeVar(
    "AnyTyped", bound=TextPart | ReasoningPart | ToolCallPart | ToolResultPart | FilePart
)

NAMES = ("openai_chat", "openai_responses", "anthropic", "ai_sdk")
NOTHING: Json = {}

_ONLY_TEXT = {"type", "text"}
_encode_output = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


def check_reasoning(reasoning: str) -> None:
    """Refuse what is no wish for reasoning."""
    if reasoning not in get_args(Reasoning):
        raise UsageError(f"reasoning must be 'text' or 'omit', not {reasoning!r}", path="reasoning")


def text_of_part(part: Part, reasoning: Reasoning) -> str:
    """Return a part as text; the empty string when there is nothing that could be read."""
    match part:
        case TextPart(text=text):
            return text
        case ReasoningPart(text=text):
            is_told = reasoning == "text" and text.strip()
            return f"<reasoning>\n{text}\n</reasoning>" if is_told else ""
        case FilePart():
            return file_note(part)
        case OtherPart(value={"type": "step-start"}):
            return ""
        case OtherPart(value=value):
            return f"[{value.get('type', 'other')}] {json_text(value)}"
        case _:
            return json_text(part.to_json())


def file_note(part: FilePart) -> str:
    """Return which file it is, and what is in it if that is text."""
    title = f"{part.name} ({part.media_type})" if part.name else part.media_type
    text = text_of(part)
    if text is not None:
        return f"[file {title}]\n{text}"
    if part.data is not None:
        return f"[file {title}, {counted(len(part.data), 'byte')}]"
    is_inline = (part.uri or "").startswith("data:")
    return f"[file {title}]" if is_inline or not part.uri else f"[file {title}: {part.uri}]"


def as_text(output: Any) -> str:
    """Write a tool's output as text: a string as it is, null as nothing, the rest as JSON."""
    if output is None:
        return ""
    return output if isinstance(output, str) else _encode_output(output).decode()


class NativePart(OtherPart, frozen=True, kw_only=True, tag="other", gc=False):
    """What has no part of ours, in a message that came from the format being written."""


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON; Python takes 1, 1.0 and True for one."""
    if one is other:
        return True
    if isinstance(one, str) or isinstance(other, str) or one == [] or other == []:
        return bool(one == other)
    return _encode_sorted(one) == _encode_sorted(other)


def difference(made: Mapping[str, Any], given: Mapping[str, Any]) -> Json:
    """Return what has to be done to what was made, so that it is what was given."""
    put: Json = {}
    within: Json = {}
    for key, value in given.items():
        if key not in made:
            put[key] = value
            continue
        it = made[key]
        if it is value:
            continue
        if isinstance(it, dict) and isinstance(value, dict):
            if inner := difference(it, value):
                within[key] = inner
        elif not same(it, value):
            put[key] = value
    rest: Json = {"set": put} if put else {}
    if not made.keys() <= given.keys():
        rest["drop"] = [key for key in made if key not in given]
    if within:
        rest["within"] = within
    return rest


def besides(given: Json, known: tuple[str, ...]) -> Json:
    """Return the difference to what has the known fields as given, all of them, and no others."""
    if len(given) == len(known):
        return {}
    return {"set": {key: value for key, value in given.items() if key not in known}}


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
    """Return the rest that a format keeps in `extra` or `metadata`."""
    rest = holder.get(name)
    return rest if isinstance(rest, dict) else {}


def part_rest(part: Part, name: str) -> Json:
    """Return the rest that a format keeps beside a part."""
    extra = getattr(part, "extra", None)
    return rest_of(extra, name) if extra else {}


def kind_of(part: Part, name: str) -> str | None:
    """Return the type that a format calls a part by, when it is not the one it would choose."""
    return kind_in(part_rest(part, name))


def kind_in(rest: Json) -> str | None:
    """Return the type that is kept in the rest of a part."""
    kind = rest.get("type")
    return kind if isinstance(kind, str) else None


def with_rest(part: AnyTyped, name: str, rest: Mapping[str, Any]) -> AnyTyped:
    """Add to the rest that a format keeps beside a part."""
    if not rest:
        return part
    if not part.extra:
        return msgspec.structs.replace(part, extra={name: {**rest}})
    whole = {**rest_of(part.extra, name), **rest}
    return msgspec.structs.replace(part, extra={**part.extra, name: whole})


def keep(
    part: AnyTyped, name: str, given: Json, made: Json, rest: Mapping[str, Any] = NOTHING
) -> AnyTyped:
    """Keep beside a part what was given and is not in what is made of it; `rest` besides."""
    more = difference(made, given)
    return with_rest(part, name, {**rest, **more} if rest else more)


def has_other(parts: Sequence[Part]) -> bool:
    """Whether there is among parts what has no part of ours."""
    return OtherPart in map(type, parts)


def with_natives(parts: list[Part]) -> list[Part]:
    """Mark what has no part of ours, in a message that came from the format being written."""
    return [NativePart(value=it.value) if isinstance(it, OtherPart) else it for it in parts]


def only_text(parts: Sequence[Part], rest: Mapping[str, Any]) -> str | None:
    """Return the text of a message that is one text, with nothing kept beside it; else None."""
    if rest or len(parts) != 1:
        return None
    part = parts[0]
    return part.text if isinstance(part, TextPart) and not part.extra else None


def is_only_text(value: Json) -> bool:
    """Whether an element of a message's content could be a string instead."""
    return value.keys() == _ONLY_TEXT

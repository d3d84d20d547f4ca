"""What a format cannot say otherwise, said as text."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from ..errors import UsageError
from ..model import FilePart, OtherPart, Part, ReasoningPart, TextPart
from ..rules.json_text import json_text
from .files import text_of

Reasoning = Literal["text", "omit"]

_encode = msgspec.json.Encoder().encode


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
        return f"[file {title}, {len(part.data)} bytes]"
    is_inline = (part.uri or "").startswith("data:")
    return f"[file {title}]" if is_inline or not part.uri else f"[file {title}: {part.uri}]"


def as_text(output: Any) -> str:
    """Write a tool's output as text: a string as it is, null as nothing, the rest as JSON."""
    if output is None:
        return ""
    return output if isinstance(output, str) else _encode(output).decode()

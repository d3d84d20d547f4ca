"""Older messages made short when they are read; nothing stored is changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from ..model import Message, ModelMessage, Part, TextPart, ToolCallPart, ToolResultPart
from ..rules import check
from .cuts import cut_middle, cut_value

KEEP_RECENT = 4
MAX_TOOL_OUTPUT_CHARS = 500
MAX_TEXT_CHARS = 10_000

T = TypeVar("T", Message, ModelMessage)


def truncate_older_messages(
    messages: Sequence[T],
    *,
    keep_recent: int = KEEP_RECENT,
    max_tool_output_chars: int = MAX_TOOL_OUTPUT_CHARS,
    max_text_chars: int = MAX_TEXT_CHARS,
) -> list[T]:
    """Shorten the texts and tool outputs of all but the last messages.

    Gives new messages; those that need no cut are given back as they are. A tool output keeps its
    shape, an object stays an object; a text loses its middle to a mark that says how many
    characters were cut. Limits of less than about 50 characters may be exceeded by the marks.
    """
    check.count(keep_recent, "keep_recent", 0)
    check.count(max_tool_output_chars, "max_tool_output_chars", 1)
    check.count(max_text_chars, "max_text_chars", 1)
    older = max(len(messages) - keep_recent, 0)
    return [
        shorten(message, max_tool_output_chars, max_text_chars) if index < older else message
        for index, message in enumerate(messages)
    ]


def shorten(message: T, output_chars: int, text_chars: int, input_chars: int | None = None) -> T:
    """Shorten one message; it is given back itself when nothing in it is too long."""
    parts = [_shorter(part, output_chars, text_chars, input_chars) for part in message.parts]
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    return msgspec.structs.replace(message, parts=parts)


def _shorter(part: Part, output_chars: int, text_chars: int, input_chars: int | None) -> Part:
    match part:
        case TextPart(text=text) if len(text) > text_chars:
            cut = cut_middle(text, text_chars)
            return part if cut == text else msgspec.structs.replace(part, text=cut)
        case ToolResultPart(output=output):
            value = cut_value(output, output_chars)
            return part if value is output else msgspec.structs.replace(part, output=value)
        case ToolCallPart(input=given) if input_chars is not None:
            value = cut_value(given, input_chars)
            return part if value is given else msgspec.structs.replace(part, input=value)
        case _:
            return part

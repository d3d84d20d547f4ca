"""The conversation that every side stores: one part for each message, the same in every run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, cycle

from messages import DISTINCT, ONE_TOOL_RESULT_IN, messages, text
from msgspec.structs import replace

from sapwood.model import NewMessage, TextPart, ToolCallPart, ToolResultPart

RARE = "zanzibar"
COMMON = "warehouse"
RARE_PLACES = 3
KEPT = 20
SUMMARY = text(1_000, 0)
"""What every summariser answers, at once: a model's time is no package's."""
QUESTION, ANSWER = text(200, 1), text(600, 2)
"""What a scripted model is asked in every turn, and what it answers."""
TEXTS_IN_TURN = ONE_TOOL_RESULT_IN - 2


def talk(length: int) -> list[NewMessage]:
    """Return a conversation; of ten messages eight are text, one a tool call, one its result.

    The packages keep a call apart from the text before it, so here it is a message of its own.
    To most of them what a tool gave is a string, so here it is one: JSON as text.
    """
    said = mixed(length)
    for place in range(RARE_PLACES):
        number = length * place // RARE_PLACES // ONE_TOOL_RESULT_IN * ONE_TOOL_RESULT_IN
        said[number] = with_word(said[number], RARE)
    return said


def mixed(length: int) -> list[NewMessage]:
    """Return the same without the rare word."""
    return [_one_part(message) for message in messages(length)]


def _one_part(message: NewMessage) -> NewMessage:
    last = message.parts[-1]
    if isinstance(last, ToolCallPart):
        return replace(message, role="assistant", parts=[last])
    if isinstance(last, ToolResultPart):
        return replace(message, parts=[replace(last, output=json.dumps(last.output))])
    return message


def with_word(message: NewMessage, word: str) -> NewMessage:
    """Begin a message's text with a word."""
    return replace(message, parts=[TextPart(text=f"{word} {text_of(message)}")])


def numbered() -> Iterator[NewMessage]:
    """Yield messages of text without end, each with its number in front."""
    texts = cycle([it for it in mixed(DISTINCT) if isinstance(it.parts[0], TextPart)])
    return (with_word(next(texts), f"{number:08}") for number in count())


def text_of(message: NewMessage) -> str:
    """Return the text of a message that is text."""
    part = message.parts[0]
    return part.text if isinstance(part, TextPart) else ""


def arguments_of(call: ToolCallPart) -> str:
    """Return a call's input as JSON."""
    return json.dumps(call.input)

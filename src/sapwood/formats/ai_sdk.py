"""The AI SDK's UI messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..model import NewMessage, OtherPart, Part, ToolCallPart, ToolResultPart
from . import ai_sdk_parts as ui
from .client_values import id_of, objects_at, text_at, values_of
from .message_like import MessageLike, PartIndex, callers, checked_messages
from .unmapped_fields import NAMES, Json, difference, rest_of, restore

_ROLES = {"assistant": "assistant", "system": "system", "developer": "system", "tool": "assistant"}


def from_ai_sdk(value: Any) -> list[NewMessage]:
    """Read a UI message, or a list of them; `UsageError` says where one is wrong.

    A message's id is the client's, and its metadata, when that is an object, the message's.
    """
    return [_read(message, path) for message, path in values_of(value, "message", "messages")]


def to_ai_sdk(messages: Iterable[MessageLike]) -> list[Json]:
    """Write UI messages; those that came from this format are written as they came.

    The result of a tool stands in the part of its call, so that a message with results only is
    not shown by itself.
    """
    listed = checked_messages(messages)
    answers = _answers(listed)
    written = [_write(row, message, answers) for row, message in enumerate(listed)]
    return [message for message in written if message is not None]


def _answers(messages: list[MessageLike]) -> dict[PartIndex, ToolResultPart]:
    """Return the first result of each call, by the place of the call and by its own."""
    answers: dict[PartIndex, ToolResultPart] = {}
    for place, call in callers([message.parts for message in messages]).items():
        part = messages[place[0]].parts[place[1]]
        if call not in answers and isinstance(part, ToolResultPart):
            answers[call] = answers[place] = part
    return answers


def _read(message: Json, path: str) -> NewMessage:
    role = text_at(message, "role", path)
    parts: list[Part] = []
    for value, where in objects_at(message, "parts", path):
        parts += ui.read_part(value, where)
    given = message.get("metadata")
    metadata = given if isinstance(given, dict) and given.keys().isdisjoint(NAMES) else {}
    id = id_of(message)
    rest: Json = {}
    if any(isinstance(part, OtherPart) and not ui.is_own(part.value) for part in parts):
        rest["other"] = True
    # Each part is written as it came.
    rest |= difference(_made(id, role, message["parts"], metadata), message)
    kept = {**metadata, ui.NAME: rest} if rest else metadata
    return NewMessage(role=role, parts=parts, metadata=kept, id=id)


def _made(id: str | None, role: str, parts: list[Json], metadata: Json) -> Json:
    made: Json = {} if id is None else {"id": id}
    made["role"] = _ROLES.get(role, "user")
    made["parts"] = parts
    return {**made, "metadata": metadata} if metadata else made


def _write(row: int, message: MessageLike, answers: dict[PartIndex, ToolResultPart]) -> Json | None:
    rest = rest_of(message.metadata, ui.NAME)
    parts = list(_parts(row, message, answers, "other" in rest))
    if not parts and message.parts:
        return None
    metadata = message.metadata
    if not metadata.keys().isdisjoint(NAMES):
        metadata = {key: value for key, value in metadata.items() if key not in NAMES}
    return restore(_made(message.id, message.role, parts, metadata), rest)


def _parts(
    row: int, message: MessageLike, answers: dict[PartIndex, ToolResultPart], native: bool
) -> Iterator[Json]:
    for column, part in enumerate(message.parts):
        if isinstance(part, ToolCallPart):
            yield ui.write_tool(part, answers.get((row, column)))
        elif not isinstance(part, ToolResultPart):
            yield ui.write_part(part, native)
        elif (row, column) not in answers:
            yield ui.write_orphan(part)

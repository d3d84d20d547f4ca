"""Messages of OpenAI chat completions, and of the many servers that speak the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..model import NewMessage, Part, ToolCallPart, ToolResultPart
from . import openai_chat_parts as chat
from .client_values import mapping, objects_at, text_at, values_of
from .message_like import MessageLike, checked_messages
from .part_text import Reasoning, check_reasoning
from .role_blocks import BlockRules, RoleBlock, blocks_of
from .unmapped_fields import Json, difference, only_text, restore
from .vendor_limits import fit_chat

BLOCK_RULES = BlockRules(chat.NAME, users_hold_results=False, stays=lambda part: False)


def from_openai_chat(value: Any) -> list[NewMessage]:
    """Read a message, or a list of them; `UsageError` says where one is wrong."""
    return [_read(message, path) for message, path in values_of(value, "message", "messages")]


def to_openai_chat(
    messages: Iterable[MessageLike], *, wire: bool = False, reasoning: Reasoning = "text"
) -> list[Json]:
    """Write messages; those that came from this format are written as they came.

    Each tool result is a message right after the one with its call. `wire` also keeps the limits
    of the API: the length of ids, no empty messages. `reasoning` says what becomes of reasoning
    that this format has no field for.
    """
    check_reasoning(reasoning)
    written: list[Json] = []
    for block in blocks_of(checked_messages(messages), BLOCK_RULES):
        if block.role == "tool":
            written += [
                restore(chat.write_result(part), block.rest)
                for part in block.parts
                if isinstance(part, ToolResultPart)
            ]
        elif (message := _write(block, reasoning)) is not None:
            written.append(message)
    return fit_chat(written) if wire else written


def _read(message: Json, path: str) -> NewMessage:
    role = text_at(message, "role", path)
    if role not in ("tool", "function"):
        return chat.CONTENT.read(message, role, path, _fields(message, path))
    part = chat.read_result(message, path)
    rest = difference(chat.write_result(part), message)
    return NewMessage(role="tool", parts=[part], metadata={chat.NAME: rest} if rest else {})


def _fields(message: Json, path: str) -> Iterator[tuple[str, Part]]:
    """Yield the parts that stand beside the content, each with the field that it is in."""
    yield from chat.read_fields(message)
    if message.get("tool_calls") is not None:
        for value, where in objects_at(message, "tool_calls", path):
            yield "tool_calls", chat.read_call(value, where)
    if message.get("function_call") is not None:
        where = f"{path}.function_call"
        call = chat.read_function_call(mapping(message["function_call"], where), where)
        yield "function_call", call


def _write(block: RoleBlock, reasoning: Reasoning) -> Json | None:
    text = only_text(block.parts, block.rest)
    if text is not None:
        return {"role": chat.CONTENT.role_of(block.role), "content": text}
    said: list[Part] = []
    fields: Json = {}
    calls: list[Json] = []
    for part in block.parts:
        if (field := chat.field_of(part)) is not None:
            fields[field] = chat.write_field(part, field)
        elif isinstance(part, ToolCallPart):
            calls.append(chat.write_call(part))
        else:
            said.append(part)
    if calls:
        fields["tool_calls"] = calls
    return chat.CONTENT.write(block.role, said, block.rest, reasoning, fields)

"""Messages of OpenAI chat completions, and of the many servers that speak the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..model import NewMessage, Part, TextPart, ToolCallPart, ToolResultPart
from . import openai_chat_parts as chat
from .client_values import mapping, objects_at, only_content, text_at, values_of, wrong
from .message_like import MessageLike, checked_messages
from .part_text import Reasoning, check_reasoning
from .role_blocks import BlockRules, RoleBlock, blocks_of
from .unmapped_fields import Json, besides, difference, has_other, is_only_text, only_text, restore
from .vendor_limits import fit_chat

BLOCK_RULES = BlockRules(chat.NAME, users_hold_results=False, stays=lambda part: False)

_ROLES = ("system", "developer", "user", "assistant")


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
    written = [
        message
        for block in blocks_of(checked_messages(messages), BLOCK_RULES)
        for message in _write_block(block, reasoning)
    ]
    return fit_chat(written) if wire else written


def _read(message: Json, path: str) -> NewMessage:
    role = text_at(message, "role", path)
    if role in ("tool", "function"):
        part = chat.read_result(message, path)
        return _new("tool", [part], difference(chat.write_result(part), message))
    text = only_content(message)
    if text is not None and role in _ROLES:
        return _new(role, [TextPart(text=text)], {})
    fields = [*chat.read_fields(message), *_calls(message, path)]
    parts = [*_contents(message, role, path), *fields]
    rest: Json = {}
    if has_other(parts):
        rest["other"] = True
    content = message.get("content")
    if isinstance(content, list) and len(content) < 2 and all(map(is_only_text, content)):
        rest["list"] = True
    return _new(role, parts, rest | _rest(message, role, fields))


def _rest(message: Json, role: str, fields: list[Part]) -> Json:
    if fields or role not in _ROLES or message.get("content") is None:
        return difference(_made(message, role, fields), message)
    return besides(message, ("role", "content"))


def _made(message: Json, role: str, fields: list[Part]) -> Json:
    """Return what would be written of a message: each part is written as it came."""
    content = message.get("content")
    made: Json = {"role": role if role in _ROLES else "user", "content": content}
    if content is None and role != "assistant":
        made["content"] = ""
    for part in fields:
        name = chat.field_of(part) or "tool_calls"
        made[name] = message[name]
    return made


def _new(role: str, parts: list[Part], rest: Json) -> NewMessage:
    return NewMessage(role=role, parts=parts, metadata={chat.NAME: rest} if rest else {})


def _contents(message: Json, role: str, path: str) -> Iterator[Part]:
    content = message.get("content")
    if isinstance(content, str):
        yield TextPart(text=content)
    elif isinstance(content, list):
        for value, where in objects_at(message, "content", path):
            yield chat.read_content(value, role, where)
    elif content is not None:
        raise wrong(content, f"{path}.content", "a string or a list")


def _calls(message: Json, path: str) -> Iterator[Part]:
    if message.get("tool_calls") is not None:
        for value, where in objects_at(message, "tool_calls", path):
            yield chat.read_call(value, where)
    if message.get("function_call") is not None:
        where = f"{path}.function_call"
        yield chat.read_function_call(mapping(message["function_call"], where), where)


def _write_block(block: RoleBlock, reasoning: Reasoning) -> Iterator[Json]:
    if block.role == "tool":
        for part in block.parts:
            if isinstance(part, ToolResultPart):
                yield restore(chat.write_result(part), block.rest)
        return
    text = only_text(block.parts, block.rest)
    if text is not None:
        yield {"role": block.role if block.role in _ROLES else "user", "content": text}
        return
    made = _write(block, reasoning)
    # What only its own vendor can read has no words here; what says nothing by itself stays.
    is_unsayable = len(made) == 2 and not made["content"] and block.parts and not block.rest
    if not is_unsayable or any(isinstance(part, TextPart) for part in block.parts):
        yield restore(made, block.rest)


def _write(block: RoleBlock, reasoning: Reasoning) -> Json:
    role = block.role if block.role in _ROLES else "user"
    contents: list[Json] = []
    fields: Json = {}
    calls: list[Json] = []
    for part in block.parts:
        if (field := chat.field_of(part)) is not None:
            fields[field] = chat.write_field(part, field)
        elif isinstance(part, ToolCallPart):
            calls.append(chat.write_call(part))
        elif (content := chat.write_content(part, role, reasoning)) is not None:
            contents.append(content)
    if calls:
        fields["tool_calls"] = calls
    return {"role": role, "content": _content(contents, role, block.rest), **fields}


def _content(contents: list[Json], role: str, rest: Json) -> Any:
    """Return content as a string where it can be one."""
    if "list" in rest or len(contents) > 1:
        return contents
    if not contents:
        return None if role == "assistant" else ""
    [content] = contents
    return content["text"] if is_only_text(content) else contents

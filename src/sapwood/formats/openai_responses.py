"""Items of OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from ..model import NewMessage, OtherPart, Part, ToolCallPart, ToolResultPart
from . import openai_responses_items as items
from .client_values import id_of, text_at, values_of, wrong
from .message_like import MessageLike, checked_messages
from .openai_responses_parts import CONTENT, NAME
from .part_text import Reasoning, check_reasoning
from .unmapped_fields import Json, has_other, kind_of, only_text, rest_of, with_natives
from .vendor_limits import fit_items

# Their id is that of something else.
_REFERRING = ("item_reference", "local_shell_call_output")
_FROM_USER = ("item_reference", "mcp_approval_response", "compaction_trigger")


def from_openai_responses(value: Any) -> list[NewMessage]:
    """Read an item, or a list of them: each becomes a message, with the item's id if it has one.

    `UsageError` says where one is wrong.
    """
    return [_read(item, path) for item, path in values_of(value, "item", "items")]


def to_openai_responses(
    messages: Iterable[MessageLike], *, wire: bool = False, reasoning: Reasoning = "text"
) -> list[Json]:
    """Write items; those that came from this format are written as they came.

    Each call and each result is an item of its own. `wire` also keeps the limits of the API: the
    length of ids, no empty messages. `reasoning` says what becomes of reasoning of other vendors.
    """
    check_reasoning(reasoning)
    calls: dict[str, str | None] = {}
    written = [item for it in checked_messages(messages) for item in _write(it, calls, reasoning)]
    return fit_items(written) if wire else written


def _kind(item: Json, path: str) -> str:
    if item.get("type") is not None:
        return text_at(item, "type", path)
    if "role" in item:
        return "message"
    if "id" in item:
        return "item_reference"
    raise wrong(None, f"{path}.type", "a string")


def _read(item: Json, path: str) -> NewMessage:
    kind = _kind(item, path)
    if kind == "message":
        role = text_at(item, "role", path)
        return CONTENT.read(item, role, path, always_list=role == "assistant")
    parts = items.read_item(item, kind, path)
    metadata: Json = {}
    if has_other(parts):
        parts, metadata = [OtherPart(value=item)], {NAME: {"item": True}}
    id = None if kind in _REFERRING else id_of(item)
    return NewMessage(role=_role(item, kind), parts=parts, metadata=metadata, id=id)


def _role(item: Json, kind: str) -> str:
    role = item.get("role")
    if isinstance(role, str) and role in CONTENT.roles:
        return role
    if kind.endswith("_output"):
        return "tool"
    return "user" if kind in _FROM_USER else "assistant"


def _write(
    message: MessageLike, calls: dict[str, str | None], reasoning: Reasoning
) -> Iterator[Json]:
    rest = rest_of(message.metadata, NAME)
    if "item" in rest and [type(part) for part in message.parts] == [OtherPart]:
        yield message.parts[0].to_json()
        return
    text = only_text(message.parts, rest)
    if text is not None:
        yield {"role": CONTENT.role_of(message.role), "content": text}
        return
    told: list[Part] = []
    for part, item in _items(message.parts, calls):
        if item is None:
            told.append(part)
            continue
        if told:
            yield from _messages(message.role, told, {}, reasoning)
            told = []
        yield item
    if told or (rest and not message.parts):
        whole = rest if len(told) == len(message.parts) else {}
        yield from _messages(message.role, told, whole, reasoning)


def _items(parts: list[Part], calls: dict[str, str | None]) -> Iterator[tuple[Part, Json | None]]:
    """Yield each part with the item that it is by itself, if it is one."""
    served: Part | None = None
    for part, after in zip_longest(parts, parts[1:]):
        if part is served:
            continue
        if isinstance(part, ToolCallPart):
            calls[part.call_id] = kind_of(part, NAME)
            if calls[part.call_id] == "mcp_call" and isinstance(after, ToolResultPart):
                served = after
                yield part, items.write_served(part, after)
                continue
        call_kind = calls.get(part.call_id) if isinstance(part, ToolResultPart) else None
        yield part, items.write_item(part, call_kind)


def _messages(role: str, parts: list[Part], rest: Json, reasoning: Reasoning) -> Iterator[Json]:
    """Write what is said; what the assistant said elsewhere, one message for each part."""
    is_one = role != "assistant" or "list" in rest or len(parts) < 2
    if "other" in rest:
        parts = with_natives(parts)
    for group in [parts] if is_one else [[part] for part in parts]:
        message = CONTENT.write(role, group, rest, reasoning)
        if message is not None:
            yield message

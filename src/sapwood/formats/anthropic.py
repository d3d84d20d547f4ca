"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..model import NewMessage, Part, TextPart
from . import anthropic_parts as blocks
from .client_values import id_of, objects_at, only_content, text_at, values_of, wrong
from .message_like import MessageLike, checked_messages
from .part_text import Reasoning, check_reasoning
from .role_blocks import BlockRules, RoleBlock, blocks_of
from .unmapped_fields import Json, besides, difference, has_other, is_only_text, only_text, restore
from .vendor_limits import fit_anthropic

BLOCK_RULES = BlockRules(blocks.NAME, users_hold_results=True, stays=blocks.stays_with_call)

_OWN_ROLES = ("user", "assistant", "system")
_ROLES = {"developer": "system", "system": "system", "assistant": "assistant"}


def from_anthropic(value: Any) -> list[NewMessage]:
    """Read a message, or a list of them; `UsageError` says where one is wrong."""
    return [_read(message, path) for message, path in values_of(value, "message", "messages")]


def to_anthropic(
    messages: Iterable[MessageLike], *, wire: bool = False, reasoning: Reasoning = "text"
) -> list[Json]:
    """Write messages; those that came from this format are written as they came.

    Tool results stand in the user's message after the one with their calls. `wire` also keeps the
    rules of the API: user and assistant in turn, results first, role and content only, no system
    messages, no blank text. `reasoning` says what becomes of reasoning of other vendors.
    """
    check_reasoning(reasoning)
    written: list[Json] = []
    is_results = False
    for block in blocks_of(checked_messages(messages), BLOCK_RULES):
        if block.role == "tool" and is_results:
            written[-1]["content"] += _contents(block, "user", reasoning)
            continue
        written += _write_block(block, reasoning)
        is_results = block.role == "tool"
    return fit_anthropic(written) if wire else written


def _read(message: Json, path: str) -> NewMessage:
    role = text_at(message, "role", path)
    text = only_content(message)
    if text is not None and role in _OWN_ROLES:
        return NewMessage(role=role, parts=[TextPart(text=text)])
    parts = list(_parts(message, role, path))
    content = message["content"]
    rest: Json = {}
    if has_other(parts):
        rest["other"] = True
    if isinstance(content, list) and len(content) < 2 and all(map(is_only_text, content)):
        rest["list"] = True
    # Each block is written as it came.
    if role in _OWN_ROLES:
        rest |= besides(message, ("role", "content"))
    else:
        rest |= difference({"role": _ROLES.get(role, "user"), "content": content}, message)
    metadata = {blocks.NAME: rest} if rest else {}
    return NewMessage(role=role, parts=parts, metadata=metadata, id=id_of(message))


def _parts(message: Json, role: str, path: str) -> Iterator[Part]:
    content = message.get("content")
    if isinstance(content, str):
        yield TextPart(text=content)
        return
    if not isinstance(content, list):
        raise wrong(content, f"{path}.content", "a string or a list")
    found = list(objects_at(message, "content", path))
    served = blocks.served_ids(content)
    for block, where in found:
        yield blocks.read_block(block, role, served, where)


def _write_block(block: RoleBlock, reasoning: Reasoning) -> Iterator[Json]:
    text = only_text(block.parts, block.rest)
    if text is not None:
        yield {"role": _ROLES.get(block.role, "user"), "content": text}
        return
    made = _write(block, reasoning)
    # What only its own vendor can read has no words here; what says nothing by itself stays.
    is_unsayable = not made["content"] and block.parts and not block.rest
    if not is_unsayable or any(isinstance(part, TextPart) for part in block.parts):
        yield restore(made, block.rest)


def _write(block: RoleBlock, reasoning: Reasoning) -> Json:
    role = _ROLES.get(block.role, "user")
    contents = _contents(block, role, reasoning)
    if "list" in block.rest:
        return {"role": role, "content": contents}
    if len(contents) == 1 and is_only_text(contents[0]):
        return {"role": role, "content": contents[0]["text"]}
    return {"role": role, "content": contents or ""}


def _contents(block: RoleBlock, role: str, reasoning: Reasoning) -> list[Json]:
    written = [blocks.write_block(part, role, reasoning) for part in block.parts]
    return [block for block in written if block is not None]

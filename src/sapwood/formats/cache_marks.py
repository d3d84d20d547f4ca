"""Marks for Anthropic's cache: up to where the next call is going to begin alike."""

from __future__ import annotations

from typing import Literal

from ..errors import UsageError
from .unmapped_fields import Json

CacheTime = Literal["5m", "1h"]
"""How long Anthropic keeps what was not asked for again."""

MARK = "cache_control"
_MARKABLE = ("text", "image", "document", "tool_result")


def check_cache(cache: object) -> None:
    """Refuse another time than Anthropic knows."""
    if cache not in ("5m", "1h", None):
        raise UsageError(f"cache is {cache!r}: give '5m', '1h', or None for no marks", path="cache")


def with_marks(written: Json, cache: CacheTime, *, messages: bool) -> Json:
    """Mark the tools, the prompt, and where the last input and this one end: four at most.

    The vendor stores an input at its marks only, and looks for what is stored at most 20 blocks
    above a mark. So the place of the last mark before is marked once more, however much was said
    since. Without `messages` these are not marked: they do not begin as the next ones will.
    Marks that came with stored messages go; beside ours they might be too many.
    """
    mark: Json = {"type": "ephemeral"} if cache == "5m" else {"type": "ephemeral", "ttl": cache}
    marked = {**written, "messages": [_unmarked(it) for it in written["messages"]]}
    if written.get("tools"):
        *tools, last = written["tools"]
        marked["tools"] = [*tools, {**last, MARK: mark}]
    if "system" in written:
        marked["system"] = [{"type": "text", "text": written["system"], MARK: mark}]
    ends = [at for at, it in enumerate(marked["messages"]) if it["role"] == "user"]
    for at in ends[-2:] if messages else ():
        marked["messages"][at] = _marked(marked["messages"][at], mark)
    return marked


def _marked(message: Json, mark: Json) -> Json:
    """Mark the last block of a message that takes a mark."""
    content = [*message["content"]]
    for at in reversed(range(len(content))):
        if content[at].get("type") in _MARKABLE:
            content[at] = {**content[at], MARK: mark}
            break
    return {**message, "content": content}


def _unmarked(message: Json) -> Json:
    return {**message, "content": [_block_unmarked(block) for block in message["content"]]}


def _block_unmarked(block: Json) -> Json:
    inner = block.get("content")
    if block.get("type") == "tool_result" and isinstance(inner, list):
        block = {**block, "content": [_block_unmarked(it) for it in inner]}
    return {key: value for key, value in block.items() if key != MARK} if MARK in block else block

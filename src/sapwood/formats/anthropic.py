"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model import NewMessage
from .anthropic_parts import CONTENT, NAME, stays_with_call
from .client_values import text_at, values_of
from .message_like import MessageLike, checked_messages
from .part_text import Reasoning, check_reasoning
from .role_blocks import BlockRules, blocks_of
from .unmapped_fields import Json
from .vendor_limits import fit_anthropic

BLOCK_RULES = BlockRules(NAME, users_hold_results=True, stays=stays_with_call)


def from_anthropic(value: Any) -> list[NewMessage]:
    """Read a message, or a list of them; `UsageError` says where one is wrong."""
    return [
        CONTENT.read(message, text_at(message, "role", path), path)
        for message, path in values_of(value, "message", "messages")
    ]


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
    for role, parts, rest in blocks_of(checked_messages(messages), BLOCK_RULES):
        if role == "tool" and is_results:
            written[-1]["content"] += CONTENT.write_elements(parts, "user", reasoning)
            continue
        message = CONTENT.write(role, parts, rest, reasoning)
        if message is not None:
            written.append(message)
        is_results = role == "tool"
    return fit_anthropic(written) if wire else written

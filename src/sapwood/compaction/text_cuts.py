"""Long texts cut short, with a mark that says how much is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..rules.tokens import estimate_text

SHORTEST = 60
"""A limit below this may be exceeded by the length of the mark."""


def cut_middle(text: str, limit: int) -> str:
    """Cut the middle out of a text that is longer than so many characters, never to grow."""
    if len(text) <= limit:
        return text
    room = limit - len(_mark(len(text)))
    if limit < SHORTEST:
        room = limit
    head = room - room // 3
    tail = text[len(text) - room // 3 :]
    cut = text[:head] + _mark(len(text) - room) + tail
    return cut if len(cut) < len(text) else text


def _mark(count: int) -> str:
    return f" [... {count} characters cut ...] "


def cut_to_tokens(text: str, max_tokens: int) -> str:
    """Cut the middle out of a text until its estimate is at most so many tokens."""
    if estimate_text(text) <= max_tokens:
        return text
    cut = cut_middle(
        text,
        most_that_fits(
            SHORTEST, len(text), lambda n: estimate_text(cut_middle(text, n)) <= max_tokens
        ),
    )
    return cut if estimate_text(cut) <= max_tokens else _start_of(text, max_tokens)


def most_that_fits(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """Find the largest number that fits, by halves; the least is not tried."""
    while least < most:
        middle = (least + most + 1) // 2
        if fits(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _start_of(text: str, max_tokens: int) -> str:
    """Return what fits of the start, for when there is no room for a mark."""
    kept = text[:SHORTEST]
    while kept and estimate_text(kept + "…") > max_tokens:
        kept = kept[:-1]
    return kept + "…" if kept else ""


def shown_json(value: Any) -> str:
    """Return a value as JSON; what JSON does not know, or nests too deeply, as Python has it."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return f"[{type(value).__name__} that cannot be shown as JSON]"

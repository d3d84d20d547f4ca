"""The messages that are measured: a realistic mix, the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from typing import Any

import msgspec

from sapwood.model import NewMessage, Part, TextPart, ToolCallPart, ToolResultPart

SEED = 20_240_601
DISTINCT = 1_000
TEXT_BYTES = 600
RESULT_BYTES = 4_096
ONE_TOOL_RESULT_IN = 10

_SAID = (
    "the order left our warehouse this morning and should reach you before Friday unless customs "
    "holds it again I checked the tracking number twice please try another card or ask support to "
    "refund what was charged while we look into why the service returned an error for this request "
    "first open settings then choose billing remove old address save changes wait minute reload "
    "naïve café übergröße function returns list of pending jobs sorted by priority and created_at"
)
_WORDS = _SAID.split()


def messages(count: int) -> Iterator[NewMessage]:
    """Return messages without ids; one in ten is a tool result."""
    return islice(cycle(_distinct()), count)


def text(size: int, seed: int) -> str:
    """Make a text of about so many bytes."""
    return _text(random.Random(seed), size)


@cache
def _distinct() -> tuple[NewMessage, ...]:
    rng = random.Random(SEED)
    return tuple(_message(rng, number) for number in range(DISTINCT))


def _message(rng: random.Random, number: int) -> NewMessage:
    turn = number % ONE_TOOL_RESULT_IN
    if turn == ONE_TOOL_RESULT_IN - 1:
        parts: list[Part] = [ToolResultPart(call_id=f"call-{number}", output=_result(rng))]
        return NewMessage(role="tool", parts=parts)
    parts = [TextPart(text=_text(rng, rng.randint(TEXT_BYTES // 2, TEXT_BYTES * 3 // 2)))]
    if turn == ONE_TOOL_RESULT_IN - 2:
        call = {"query": _text(rng, 40), "limit": rng.randint(5, 50)}
        parts.append(ToolCallPart(call_id=f"call-{number + 1}", name="search", input=call))
    return NewMessage(role="assistant" if turn % 2 else "user", parts=parts)


def _text(rng: random.Random, size: int) -> str:
    words: list[str] = []
    left = size
    while left > 0:
        words.append(rng.choice(_WORDS))
        left -= len(words[-1].encode()) + 1
    return " ".join(words)


def _result(rng: random.Random) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    result = {"status": "ok", "took_ms": rng.randint(3, 900), "rows": rows}
    size = 0
    while size < RESULT_BYTES:
        rows.append(_result_row(rng))
        size += len(msgspec.json.encode(rows[-1])) + 1
    return result


def _result_row(rng: random.Random) -> dict[str, Any]:
    return {
        "id": rng.randrange(10**12),
        "title": _text(rng, 60),
        "score": round(rng.random(), 6),
        "tags": [rng.choice(_WORDS) for _ in range(4)],
        "source": {
            "url": f"https://example.com/{rng.randrange(10**8)}",
            "cached": rng.random() < 0.5,
        },
        "next": None,
    }

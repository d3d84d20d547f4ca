"""What the vendors' caches would have held of a series of requests, by the rules they publish."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]
TOKEN = 4
"""So many characters count as a token: what matters is where two requests part, and how far on."""
LEAST = 1_024
STEP = 128
LOOKBACK = 20
MOST_MARKS = 4


class Count(NamedTuple):
    """The input tokens of one request, and how many of them came from the cache."""

    tokens: int
    cached: int


class OpenAICache:
    """Holds whole inputs; one that begins like another is cached in steps, from a least size on."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}

    def ask(self, request: Json) -> Count:
        """Count a request, and hold it for the next ones with its key."""
        text = "".join(openai_pieces(request))
        held = self._texts.setdefault(request["prompt_cache_key"], [])
        same = max((common(text, other) for other in held), default=0) // TOKEN
        held.append(text)
        return Count(len(text) // TOKEN, same // STEP * STEP if same >= LEAST else 0)


class AnthropicCache:
    """Holds what ends at a mark; it is looked for at the marks, and so many blocks above them."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    def ask(self, request: Json) -> Count:
        """Count a request, and hold what its marks say."""
        blocks = list(anthropic_blocks(request))
        marks = [at for at, (_, mark) in enumerate(blocks) if mark is not None]
        check_marks(blocks)
        prefixes = ["".join(text for text, _ in blocks[: at + 1]) for at in range(len(blocks))]
        near = {at for mark in marks for at in range(max(0, mark - LOOKBACK + 1), mark + 1)}
        found = [at for at in near if prefixes[at] in self._held]
        cached = len(prefixes[max(found)]) // TOKEN if found else 0
        self._held |= {prefixes[at] for at in marks if len(prefixes[at]) // TOKEN >= LEAST}
        return Count(len(prefixes[-1]) // TOKEN, cached)


def check_marks(blocks: list[tuple[str, Json | None]]) -> None:
    """Check what the vendor refuses: too many marks, and a longer time after a shorter one."""
    times = [mark.get("ttl", "5m") for _, mark in blocks if mark is not None]
    assert len(times) <= MOST_MARKS
    assert times == sorted(times)  # "1h" comes before "5m"


def openai_pieces(request: Json) -> Iterator[str]:
    """Yield what a model is given, in its order: tools, instructions, messages."""
    yield from map(json.dumps, request.get("tools", []))
    yield request.get("instructions", "")
    yield from map(json.dumps, request.get("messages", request.get("input", [])))


def anthropic_blocks(request: Json) -> Iterator[tuple[str, Json | None]]:
    """Yield the blocks in the order of the cache, and their marks: tools, system, messages."""
    system = request.get("system", [])
    listed = [("tools", it) for it in request.get("tools", [])]
    listed += [("system", it) for it in system]
    listed += [(m["role"], it) for m in request["messages"] for it in m["content"]]
    for place, block in listed:
        mark = block.get("cache_control")
        if mark is not None:
            assert mark["type"] == "ephemeral"
            assert block.get("type") not in ("thinking", "redacted_thinking")
            assert block.get("text", "something").strip()
        rest = {key: value for key, value in block.items() if key != "cache_control"}
        assert "cache_control" not in str(rest)
        yield json.dumps([place, rest]), mark


def common(one: str, other: str) -> int:
    """Return how many characters two texts begin alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low

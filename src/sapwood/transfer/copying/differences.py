"""How a session differs on the two sides."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Collection
from typing import Any

import msgspec

MOST_TOLD = 5


class Kind(enum.Enum):
    """What can be done about a difference."""

    MISSING = "missing"
    """The target lacks it: it is added."""
    CHANGED = "changed"
    """The target has it otherwise: it follows the source, unless others wrote there."""
    APART = "apart"
    """The target cannot be made like the source."""


class Differences:
    """The first few of each kind in words, and how many there are."""

    def __init__(self) -> None:
        self._told: dict[Kind, list[str]] = {kind: [] for kind in Kind}
        self._counts: Counter[Kind] = Counter()

    def add(self, kind: Kind, what: str) -> None:
        """Add one, and say what it is."""
        self._counts[kind] += 1
        if len(self._told[kind]) < MOST_TOLD:
            self._told[kind].append(what)

    def count(self, *kinds: Kind) -> int:
        """Count those of some kinds; without any, all."""
        return sum(self._counts[kind] for kind in kinds or Kind)

    def tell(self, kinds: Collection[Kind] = tuple(Kind)) -> str:
        """Say a few, and how many more there are."""
        told = [what for kind in Kind if kind in kinds for what in self._told[kind]]
        more = self.count(*kinds) - len(told[:MOST_TOLD])
        text = "; ".join(told[:MOST_TOLD])
        return f"{text}; and {more} more" if more > 0 else text


def is_same(one: Any, other: Any) -> bool:
    """Compare as JSON: 1 is neither 1.0 nor true, and the order of keys says nothing."""
    return _encode(one) == _encode(other)


_encode = msgspec.json.Encoder(order="deterministic").encode

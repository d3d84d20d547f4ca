"""The two stores of a copy, for one owner, and how a session differs on them."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from ...store import Store
from ..lines import MOST_TOLD, SessionLine, first_few
from ..named_session import NamedSession

_encode = msgspec.json.Encoder(order="deterministic").encode


class DifferenceKind(enum.Enum):
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
        self._first: dict[DifferenceKind, list[str]] = {kind: [] for kind in DifferenceKind}
        self._counts: Counter[DifferenceKind] = Counter()

    def add(self, kind: DifferenceKind, what: str) -> None:
        """Add one, and say what it is."""
        self._counts[kind] += 1
        if len(self._first[kind]) < MOST_TOLD:
            self._first[kind].append(what)

    def count(self, *kinds: DifferenceKind) -> int:
        """Count those of some kinds; without any, all."""
        return sum(self._counts[kind] for kind in kinds or DifferenceKind)

    def describe(self, kinds: Collection[DifferenceKind] = tuple(DifferenceKind)) -> str:
        """Return a few in words, and how many more there are."""
        shown = [what for kind in DifferenceKind if kind in kinds for what in self._first[kind]]
        return first_few(shown, self.count(*kinds))


def is_same(one: Any, other: Any) -> bool:
    """Compare as JSON: 1 is neither 1.0 nor true, and the order of keys says nothing."""
    return _encode(one) == _encode(other)


class Sides(NamedTuple):
    """Where sessions come from and go to, and whose they are."""

    source: Store
    target: Store
    owner: str

    def here(self, name: str) -> NamedSession:
        """Return a session where it comes from."""
        return NamedSession(self.source, self.owner, name)

    def there(self, name: str) -> NamedSession:
        """Return a session where it goes to."""
        return NamedSession(self.target, self.owner, name)

    def is_edge_lost(self, line: SessionLine) -> bool:
        """Whether a session's link to its parent cannot be had on the target.

        The parent is gone from the source, or came out of this session itself: of sessions that
        name each other, one has to be created first.
        """
        seen: set[str] = set()
        edge = line.parent
        while edge is not None and edge.session not in seen:
            if edge.session == line.id:
                return True
            record = self.here(edge.session).find_record()
            if record is None:
                return edge == line.parent
            seen.add(edge.session)
            edge = record.parent
        return False

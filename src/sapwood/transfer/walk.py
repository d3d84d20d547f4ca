"""Going over all messages of a session, each once and parents first, a page at a time.

Where a message was deleted, its gap comes in its place.

A session is walked branch by branch: of each, what no branch before it had. What was given is
remembered by segments, so that memory grows with the branches and not with the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..model import Leaf, Message, Read
from .named_session import MessageOrGap, NamedSession

PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
FIRST_LOOK = 64


class WalkStep(NamedTuple):
    """A message or a gap, and the id of what stands above it."""

    place: MessageOrGap
    parent: str | None


class SessionWalk:
    """The walk through one session; with `skip_inherited`, only through what it wrote itself."""

    def __init__(self, session: NamedSession, *, skip_inherited: bool) -> None:
        self._session = session
        self._store, self._owner, self._name = session
        self._skip_inherited = skip_inherited
        self._given: dict[str, int] = {}

    def steps(self, leaves: Sequence[Leaf]) -> Iterator[WalkStep]:
        """Yield the messages and gaps on the paths to these leaves."""
        for leaf in leaves:
            above = self._last_given(leaf.id) if self._given or self._skip_inherited else None
            depth, parent = (above.depth, above.id) if above else (0, None)
            for place in self._path(leaf, depth):
                if not self._is_given(place):
                    yield WalkStep(place, parent)
                    self._given[place.position.segment] = place.position.depth
                parent = place.id

    def _path(self, leaf: Leaf, depth: int) -> Iterator[MessageOrGap]:
        """Yield what stands on the path below a depth; gaps are looked for where depths miss."""
        for message in self._below(leaf.id, depth):
            if message.depth > depth + 1:
                yield from self._gaps(message.id, depth, message.depth)
            yield message
            depth = message.depth
        if leaf.position.depth > depth:
            yield from self._gaps(leaf.id, depth, leaf.position.depth + 1)

    def _gaps(self, leaf: str, after: int, before: int) -> Iterator[MessageOrGap]:
        gaps = self._store.list_gaps(self._owner, self._name, leaf, after=after)
        return (gap for gap in gaps if gap.position.depth < before)

    def _below(self, leaf: str, depth: int) -> Iterator[Message]:
        more = True
        while more:
            query = Read(leaf=leaf, overlays=False, after=depth, limit=PAGE, max_bytes=PAGE_BYTES)
            history = self._store.read(self._owner, self._name, query)
            yield from history.messages_only
            more = history.more
            depth = history.messages_only[-1].depth if history.messages_only else depth

    def _last_given(self, leaf: str) -> Message | None:
        """Find the deepest message of a path that was given before."""
        query = Read(leaf=leaf, overlays=False, limit=FIRST_LOOK, backwards=True)
        history = self._store.read(self._owner, self._name, query)
        for message in reversed(history.messages_only):
            if self._is_given(message):
                return message
        return self._search(leaf, history.messages_only[0].depth) if history.more else None

    def _search(self, leaf: str, below: int) -> Message | None:
        """Halve the path above a depth: what was given is a beginning of it."""
        found, low, high = None, 0, below - 1
        while low < high:
            middle = (low + high + 1) // 2
            message = self._session.find_live(leaf, before=middle + 1)
            if message is None or self._is_given(message):
                found, low = message or found, middle
            else:
                high = message.depth - 1
        return found

    def _is_given(self, place: MessageOrGap) -> bool:
        if self._skip_inherited and place.home != self._name:
            return True
        return place.position.depth <= self._given.get(place.position.segment, 0)

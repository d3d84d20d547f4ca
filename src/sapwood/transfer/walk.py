"""Going over all messages of a session, each once and parents first, a page at a time.

A session is walked branch by branch: of each, what no branch before it had. What was given is
remembered by segments, so that memory grows with the branches and not with the messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..model import Leaf, Message, Read
from ..store import Store

PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
FIRST_LOOK = 64


class Step(NamedTuple):
    """A message, and the id of its nearest live ancestor."""

    message: Message
    parent: str | None


class Walk:
    """The walk through one session; with `skip_inherited`, only through what it wrote itself."""

    def __init__(self, store: Store, owner: str, session: str, *, skip_inherited: bool) -> None:
        self._store = store
        self._owner = owner
        self._session = session
        self._skip_inherited = skip_inherited
        self._given: dict[str, int] = {}

    def steps(self, leaves: Sequence[Leaf]) -> Iterator[Step]:
        """Give the messages on the paths to these leaves."""
        for leaf in leaves:
            above = self._last_given(leaf.id) if self._given or self._skip_inherited else None
            depth, parent = (above.depth, above.id) if above else (0, None)
            for message in self._below(leaf.id, depth):
                yield Step(message, parent)
                self._given[message.segment] = message.depth
                parent = message.id

    def _below(self, leaf: str, depth: int) -> Iterator[Message]:
        more = True
        while more:
            query = Read(leaf=leaf, overlays=False, after=depth, limit=PAGE, max_bytes=PAGE_BYTES)
            history = self._store.read(self._owner, self._session, query)
            yield from history.messages
            more = history.more
            depth = history.messages[-1].depth if history.messages else depth

    def _last_given(self, leaf: str) -> Message | None:
        """Find the deepest message of a path that was given before."""
        query = Read(leaf=leaf, overlays=False, limit=FIRST_LOOK, backwards=True)
        history = self._store.read(self._owner, self._session, query)
        for message in reversed(history.messages):
            if self._is_given(message):
                return message
        return self._search(leaf, history.messages[0].depth) if history.more else None

    def _search(self, leaf: str, below: int) -> Message | None:
        """Halve the path above a depth: what was given is a beginning of it."""
        found, low, high = None, 0, below - 1
        while low < high:
            middle = (low + high + 1) // 2
            message = self._at_or_above(leaf, middle)
            if message is None or self._is_given(message):
                found, low = message or found, middle
            else:
                high = message.depth - 1
        return found

    def _at_or_above(self, leaf: str, depth: int) -> Message | None:
        query = Read(leaf=leaf, overlays=False, before=depth + 1, limit=1, backwards=True)
        messages = self._store.read(self._owner, self._session, query).messages
        return messages[0] if messages else None

    def _is_given(self, message: Message) -> bool:
        if self._skip_inherited and message.home != self._session:
            return True
        return message.depth <= self._given.get(message.segment, 0)

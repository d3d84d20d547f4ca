"""Gaps on their way into a store: a message is appended in their place, and deleted in the end."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..store import Store
from .new_records import is_for_a_gap

IdsBySession = dict[str, list[str]]
"""By session."""


class Gaps:
    """Knows what is still to be deleted.

    What an overlay of a fork is going to end at is awaited: it stays until all sessions are there.
    """

    def __init__(self, store: Store, owner: str, awaited: Container[str]) -> None:
        self._store = store
        self._owner = owner
        self._awaited = awaited
        self._left: IdsBySession = {}

    @property
    def sessions(self) -> list[str]:
        """Those that have something left to be deleted."""
        return list(self._left)

    def meet(self, session: str, ids: Sequence[str]) -> None:
        """Note what was appended for gaps, by this run or by one that was cut off."""
        found = self._store.find_messages(self._owner, session, ids) if ids else []
        gaps = [it.id for it in found if it and it.home == session and is_for_a_gap(it)]
        if gaps:
            self._left.setdefault(session, []).extend(gaps)

    def close(self, session: str) -> None:
        """Delete what nothing awaits in a session."""
        ids = self._left.pop(session, [])
        awaited = [id for id in ids if id in self._awaited]
        self._delete(session, [id for id in ids if id not in self._awaited])
        if awaited:
            self._left[session] = awaited

    def finish(self) -> None:
        """Delete the rest."""
        for session in self.sessions:
            self._delete(session, self._left.pop(session))

    def _delete(self, session: str, ids: Sequence[str]) -> None:
        if ids:
            self._store.delete_messages(self._owner, session, ids)

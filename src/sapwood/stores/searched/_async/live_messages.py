"""Which indexed messages are there, and as whose they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....model import Message, SessionRecord
from ....store._async.contract import AsyncStore
from ..entry import SearchCandidate
from .source import find_sound, sessions_of


class LiveMessage(NamedTuple):
    """A message as it is now, and the session that it is told as."""

    message: Message
    session: str


class AsyncLiveMessages:
    """Looks for messages in the store; what it learns of sessions it keeps for one call of ours."""

    def __init__(self, store: AsyncStore, owner: str) -> None:
        self._store = store
        self._owner = owner
        self._sessions: list[SessionRecord] | None = None

    async def sessions(self) -> list[SessionRecord]:
        """Return all sessions of the owner, the oldest first."""
        if self._sessions is None:
            self._sessions = await sessions_of(self._store, self._owner)
        return self._sessions

    async def live(
        self,
        candidates: Sequence[SearchCandidate],
        seen_by: str | None = None,
        seen: Mapping[str, Mapping[str, Message]] | None = None,
    ) -> dict[str, LiveMessage]:
        """Return those candidates that are there, by their keys; seen by one session, or by any.

        `seen` is what the store says of them, where that is known: by session and id.
        """
        found: dict[str, LiveMessage] = {}
        left: list[SearchCandidate] = []
        for session, some in _by_session(candidates, seen_by).items():
            if seen is not None:
                messages = seen.get(session, {})
            else:
                ids = [c.id for c in some]
                messages = await find_sound(self._store, self._owner, session, ids)
            for candidate in some:
                message = messages.get(candidate.id)
                if message is not None and candidate.is_at(message) and message.home is not None:
                    found[candidate.key] = LiveMessage(message, message.home)
                elif seen_by is None or (message is not None and candidate.is_at(message)):
                    left.append(candidate)
        if left:
            found.update(await self._inherited(left))
        return found

    async def _inherited(self, left: list[SearchCandidate]) -> dict[str, LiveMessage]:
        """Return what is there though its home is gone: told as the oldest that stands on it."""
        found: dict[str, LiveMessage] = {}
        for session in await self.sessions():
            if session.forked_at is None:
                continue
            ids = [c.id for c in left if c.key not in found]
            if not ids:
                break
            messages = await find_sound(self._store, self._owner, session.id, ids)
            for candidate in left:
                message = messages.get(candidate.id)
                if message is not None and candidate.is_at(message):
                    found.setdefault(
                        candidate.key, LiveMessage(message, message.home or session.id)
                    )
        return found


def _by_session(
    candidates: Sequence[SearchCandidate], seen_by: str | None
) -> dict[str, list[SearchCandidate]]:
    groups: dict[str, list[SearchCandidate]] = {}
    for candidate in candidates:
        # Without a home's name any that stands on it is looked for, among all.
        groups.setdefault(seen_by or candidate.session, []).append(candidate)
    return groups

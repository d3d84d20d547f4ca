"""Looking at several sessions at once: what each says under some ids, and its overlays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ....errors import NotFoundError
from ....model import Message, Overlay
from ..errors import BehindError
from ..rows import message_of
from ..state import LogState
from .history import overlays_in
from .logs import TRIES, AsyncLogSubject
from .rows import find_places_in, rows_at_in

WantedContent = Mapping[str, tuple[Sequence[str], bool]]
"""By session: the ids of messages, and whether its overlays are wanted."""
SessionContent = tuple[dict[str, Message], list[Overlay]]
"""Messages by their ids, and overlays in force."""


class AsyncLogIndexReads(AsyncLogSubject):
    """Reads for an index that is kept beside the log."""

    async def standpoint(self, owner: str, session: str) -> tuple[int, int | None]:
        """Return when a remembered session was made, and how deep its fork point is."""
        state = await self._logs.remembered(owner, session)
        return state.created_us, None if state.fork is None else state.fork.depth

    async def look(
        self, owner: str, wanted: WantedContent, is_remembered: bool
    ) -> dict[str, SessionContent]:
        """Find messages and overlays with a few looks; by what is remembered, or as it is now."""
        for _ in range(TRIES):
            states = await self._states(owner, wanted)
            if states and not is_remembered:
                states = [it for it in await self._logs.catch_up(states) if it.is_alive]
            try:
                return await self._look(states, wanted)
            except BehindError:
                is_remembered = False
        raise BehindError

    async def _states(self, owner: str, sessions: Mapping[str, object]) -> list[LogState]:
        found: list[LogState] = []
        for session in sessions:
            with suppress(NotFoundError):
                found.append(await self._logs.remembered(owner, session))
        return found

    async def _look(
        self, states: Sequence[LogState], wanted: WantedContent
    ) -> dict[str, SessionContent]:
        views = await self._logs.views(states)
        spots = await find_places_in(self._logs, [(it, wanted[it.session][0]) for it in states])
        asked = [(view, list(some.values())) for view, some in zip(views, spots, strict=True)]
        rows = await rows_at_in(self._logs, asked)
        laid = [(it, it.overlays if wanted[it.session][1] else []) for it in states]
        overlays = await overlays_in(self._logs, laid)
        return {
            view.own.session: (
                {row.id: message_of(row, view) for row in some.values() if row.body is not None},
                shown,
            )
            for view, some, shown in zip(views, rows, overlays, strict=True)
        }

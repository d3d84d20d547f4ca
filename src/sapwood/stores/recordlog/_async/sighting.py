"""Looking at several sessions at once: what each says under some ids, and its overlays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....errors import NotFoundError
from ....model import Message, Overlay
from ..rows import Row, message_of
from ..state import State
from ..told import BehindError
from ..view import View
from .desk import TRIES, AsyncDesk
from .reading import overlays_in
from .rows import rows_at_in
from .spots import find_spots_in

Wanted = Mapping[str, tuple[Sequence[str], bool]]
"""By session: the ids of messages, and whether its overlays are wanted."""
Sight = tuple[dict[str, Message], list[Overlay]]
"""Messages by their ids, and overlays in force."""


class AsyncLogSighting:
    """Reads for an index that is kept beside the log."""

    def __init__(self, desk: AsyncDesk) -> None:
        self._desk = desk

    async def standpoint(self, owner: str, session: str) -> tuple[int, int | None]:
        """Tell when a remembered session was made, and how deep its fork point is."""
        state = await self._desk.remembered(owner, session)
        return state.created_us, None if state.fork is None else state.fork.depth

    async def look(self, owner: str, wanted: Wanted, is_remembered: bool) -> dict[str, Sight]:
        """Find messages and overlays with a few looks; by what is remembered, or as it is now."""
        for _ in range(TRIES):
            states = await self._states(owner, wanted)
            if states and not is_remembered:
                states = [it for it in await self._desk.catch_up(states) if it.is_alive]
            try:
                return await self._look(states, wanted)
            except BehindError:
                is_remembered = False
        raise BehindError

    async def _states(self, owner: str, sessions: Mapping[str, object]) -> list[State]:
        found: list[State] = []
        for session in sessions:
            try:
                found.append(await self._desk.remembered(owner, session))
            except NotFoundError:
                continue
        return found

    async def _look(self, states: Sequence[State], wanted: Wanted) -> dict[str, Sight]:
        views = await self._desk.views(states)
        spots = await find_spots_in(self._desk, [(it, wanted[it.session][0]) for it in states])
        asked = [(view, list(some.values())) for view, some in zip(views, spots, strict=True)]
        rows = await rows_at_in(self._desk, asked)
        laid = [(it, it.overlays if wanted[it.session][1] else []) for it in states]
        overlays = await overlays_in(self._desk, laid)
        return {
            view.own.session: (_messages(view, list(some.values())), shown)
            for view, some, shown in zip(views, rows, overlays, strict=True)
        }


def _messages(view: View, rows: Sequence[Row]) -> dict[str, Message]:
    return {row.id: message_of(row, view) for row in rows if row.body is not None}

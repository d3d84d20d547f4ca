"""Work on sessions: make, find, change, move, retire."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ....errors import NotFoundError, StoreCorruptError, StoreError
from ....model import (
    NewSession,
    Root,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
)
from ....rules.tree import Span
from ...base.refusals import stale_session
from ..entry import entry_of
from ..errors import BehindError
from ..log_documents import owner_log
from ..place import to_wire
from ..profile import patched, record_of
from ..session_pages import page_of
from ..state import LogState
from ..view import LogView
from ..work import ChangeProfile, Clear, MoveTip, Retire, WipeLog
from .creation import create
from .documents import DOCUMENTS, is_expired, owner_state
from .feed import FEED
from .logs import TRIES, AsyncLogs, Decision, busy
from .message_places import get_place
from .rows import rows_at
from .shown_path import context_at
from .sweep import end_entry, forget_owner, sweep


class AsyncLogSessions:
    """Work on sessions."""

    def __init__(self, logs: AsyncLogs) -> None:
        self._logs = logs

    async def create(self, owner: str, new: NewSession) -> SessionRecord:
        """Create a session."""
        return await self._record(await create(self._logs, owner, new))

    async def find(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record."""
        try:
            return await self._logs.look(owner, session, self._record_in)
        except NotFoundError:
            return None

    async def _record(self, state: LogState) -> SessionRecord:
        return await self._logs.read_at(state, self._record_in)

    async def _record_in(self, view: LogView) -> SessionRecord:
        own = view.own
        return record_of(own, await context_at(self._logs, view, own.tip, own.tip_base))

    async def update(
        self, owner: str, session: str, patch: SessionPatch, expected_version: int | None
    ) -> SessionRecord:
        """Change a session's record."""

        async def decide(state: LogState) -> Decision:
            if expected_version is not None and state.version != expected_version:
                raise stale_session(session, state.version, expected_version)
            return Decision(ChangeProfile(patched(state.profile, patch)))

        return await self._record((await self._logs.change(owner, session, decide)).state)

    async def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord:
        """Move the tip."""

        async def decide(state: LogState) -> Decision:
            if not isinstance(message, str):
                return Decision(MoveTip(None, None, 0))
            spotted = await get_place(self._logs, state, message)
            view = await self._logs.view(state)
            rows = await rows_at(self._logs, view, [spotted])
            base = rows[spotted.place].base
            return Decision(MoveTip(to_wire(spotted.place, state.log), message, base))

        return await self._record((await self._logs.change(owner, session, decide)).state)

    async def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        """List sessions."""
        for _ in range(TRIES):
            states, cursor = page_of(await alive(self._logs, owner), query)
            try:
                views = await self._logs.views(states)
                sessions = [await self._record_in(it) for it in views]
            except BehindError:
                continue
            except StoreCorruptError:
                if not await self._logs.are_over(states):
                    raise
                continue
            return SessionPage(sessions=sessions, cursor=cursor)
        raise busy()

    async def delete(self, owner: str, session: str) -> None:
        """Delete a session; its records are emptied after that."""

        async def decide(state: LogState) -> Decision:
            return Decision(Retire(await self._logs.now()), state)

        state, before = await self._logs.change(owner, session, decide)
        assert isinstance(before, LogState)
        with suppress(StoreError):
            await sweep(self._logs, state)
            await end_entry(self._logs, before)

    async def clear(self, owner: str, session: str) -> SessionRecord:
        """Retire a session's messages and go on."""

        async def decide(state: LogState) -> Decision:
            return Decision(Clear(await self._logs.now()))

        state, _ = await self._logs.change(owner, session, decide)
        cleared = await self._record(state)  # before others' changes are seen
        with suppress(StoreError):
            await sweep(self._logs, state)
        return cleared

    async def erase_owner(self, owner: str) -> None:
        """Delete all that an owner has."""
        while states := await alive(self._logs, owner):
            for state in states:
                with suppress(NotFoundError):  # another may erase the same owner
                    await self.delete(owner, state.session)
        for what in (DOCUMENTS, FEED):
            await self._wipe(owner_log(owner, what))
        await forget_owner(self._logs, owner)

    async def _wipe(self, log: str) -> None:
        async def decide(state: LogState) -> Decision:
            return Decision(WipeLog() if state.n else None)

        state, _ = await self._logs.change_log(log, log, decide)
        if state.n:
            await sweep(self._logs, state)

    async def statistics(self, owner: str) -> Statistics:
        """Count what an owner has."""
        views = await self._views(owner)
        states = [view.own for view in views]
        now = await self._logs.now()
        shelves = [await owner_state(self._logs, owner, DOCUMENTS), *states]
        return Statistics(
            sessions=len(states),
            messages=sum(state.messages for state in states) + _left_behind(views),
            overlays=len({laid.stamp for state in states for laid in state.overlays}),
            documents=sum(
                not is_expired(kept, now) for it in shelves for kept in it.documents.values()
            ),
        )

    async def _views(self, owner: str) -> list[LogView]:
        """Return what the sessions of an owner see; look again when one is gone meanwhile."""
        for _ in range(TRIES):
            states = await alive(self._logs, owner)
            try:
                return await self._logs.views(states)
            except StoreCorruptError:
                if not await self._logs.are_over(states):
                    raise
        raise busy()


def _left_behind(views: Sequence[LogView]) -> int:
    """Count the live messages that sessions see of homes that are gone, each once."""
    deepest: dict[int, tuple[Span, LogView]] = {}
    for view in views:
        for span in view.spans(view.own.fork):
            known = deepest.get(span.segment)
            is_gone = view.home_of(span.segment) is None
            if is_gone and (known is None or known[0].last < span.last):
                deepest[span.segment] = span, view
    return sum(
        span.last - span.first + 1 - sum(it.is_erased for _, it in view.edits_in(span))
        for span, view in deepest.values()
    )


async def alive(logs: AsyncLogs, owner: str) -> list[LogState]:
    """Return the sessions of an owner, up to date, in the order in which they were created."""
    entries = [entry_of(stored) for stored in await logs.driver.entries(owner)]
    named = [it for it in entries if it is not None and it.session and not it.ended]
    states = [await logs.load_entry(entry) for entry in named if entry.owner == owner]
    current = await logs.catch_up(states) if states else []
    return sorted((it for it in current if it.is_alive), key=lambda it: it.log)

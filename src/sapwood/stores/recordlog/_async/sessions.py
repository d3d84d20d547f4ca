"""Work on sessions: make, find, change, move, retire."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ....errors import NotFoundError, StoreError
from ....model import (
    CHAT,
    Fence,
    NewSession,
    OwnedSessionPage,
    Root,
    SessionPage,
    SessionQuery,
    SessionRecord,
    Statistics,
    UpdatedSession,
)
from ....rules.codec import MARK_ROLE
from ....rules.tree import Span
from ....store._async.owner_sessions import sessions_of_owners
from ...base.counting import statistics_of
from ...base.extras import Extras
from ...base.refusals import refuse_stale_session
from ..documents import is_expired
from ..extras import extra_works, refuse_by_extras, refuse_closed, refuse_lost, versions_of
from ..log_documents import owner_log
from ..session_record import page_of, record_of
from ..state import LogState
from ..view import LogView
from ..work import Append, AppendedMessage, Clear, MoveTip, Retire, WipeLog, combined, to_wire
from .admin import AsyncLogAdmin
from .creation import create
from .data import data_rows, refuse_other_tip, stored_data, versions_in
from .feed import FEED
from .history import context_at
from .logs import AsyncLogSubject, Decision, again
from .rows import get_row
from .shelves import shelf_logs, shelf_states
from .sweep import end_entry, forget_owner, sweep


class AsyncLogSessions(AsyncLogSubject):
    """Work on sessions."""

    async def create(self, owner: str, new: NewSession) -> SessionRecord:
        return await self._record(await create(self._logs, owner, new))

    async def find(self, owner: str, session: str) -> SessionRecord | None:
        try:
            return await self._logs.look(owner, session, self._record_in)
        except NotFoundError:
            return None

    async def _record(self, state: LogState) -> SessionRecord:
        return await self._logs.read_at(state, self._record_in)

    async def _record_in(self, view: LogView) -> SessionRecord:
        own = view.own
        context = await context_at(self._logs, view, own.tip, own.tip_base)
        return record_of(own, context, view.public_data_at(own.tip))

    async def update(
        self, owner: str, session: str, expected_tip: str | Root | None, extras: Extras
    ) -> UpdatedSession:
        """Change a session's record, and some of its documents."""

        async def decide(state: LogState) -> Decision[None]:
            refuse_by_extras(state, extras)
            await refuse_other_tip(self._logs, state, expected_tip)
            return combined(extra_works(state, extras, await self._logs.now())), None

        state, _ = await self._logs.change(owner, session, decide)
        documents = versions_of(state, extras.documents)
        return UpdatedSession(record=await self._record(state), documents=documents)

    async def checkout(
        self,
        owner: str,
        session: str,
        message: str | Root,
        expected_tip: str | Root | None,
        fences: Sequence[Fence],
    ) -> SessionRecord:
        """Move the tip."""

        async def decide(state: LogState) -> Decision[None]:
            refuse_lost(state, fences)
            refuse_closed(state)
            await refuse_other_tip(self._logs, state, expected_tip)
            now = await self._logs.now()
            if not isinstance(message, str):
                return MoveTip(None, None, 0, now), None
            row = await get_row(self._logs, await self._logs.view(state), message)
            return MoveTip(to_wire(row.place, state.log), message, row.base, now), None

        state, _ = await self._logs.change(owner, session, decide)
        return await self._record(state)

    async def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        async def attempt() -> SessionPage:
            states, cursor = page_of(await self._logs.alive(owner), query)
            sessions = await self._logs.read_by(states, self._records_in)
            return SessionPage(sessions=sessions, cursor=cursor)

        return await again(attempt)

    async def list_of_all(self, query: SessionQuery) -> OwnedSessionPage:
        owners = await AsyncLogAdmin(self._logs).owners()
        return await sessions_of_owners(owners, query, self.list_page)

    async def _records_in(self, views: Sequence[LogView]) -> list[SessionRecord]:
        return [await self._record_in(it) for it in views]

    async def delete(self, owner: str, session: str, expected_version: int | None = None) -> None:
        """Delete a session; its records are emptied after that."""

        async def decide(state: LogState) -> Decision[LogState]:
            refuse_stale_session(session, state.version, expected_version)
            return Retire(await self._logs.now(), state.version), state

        state, before = await self._logs.change(owner, session, decide)
        with suppress(StoreError):
            await sweep(self._logs, state)
            await end_entry(self._logs, before)

    async def clear(self, owner: str, session: str, mark: str | None) -> SessionRecord:
        """Retire a session's messages and go on; with a mark, its data is kept."""

        async def decide(state: LogState) -> Decision[None]:
            now = await self._logs.now()
            kept = None if mark is None else await self._kept(state, mark, now)
            return kept or Clear(now, state.version), None

        state, _ = await self._logs.change(owner, session, decide)
        cleared = await self._record(state)  # before others' changes are seen
        with suppress(StoreError):
            await sweep(self._logs, state)
        return cleared

    async def _kept(self, state: LogState, mark: str, now: int) -> Append | None:
        """Return the mark that a clear begins with; None when there is no data."""
        view = await self._logs.view(state)
        at = view.data_at(state.tip)
        if at is None:
            return None
        [row] = await data_rows(self._logs, view, [at])
        data = stored_data(view, row)
        said = AppendedMessage(mark, MARK_ROLE, 0, now, None, data=data)
        number, version = len(state.segments) + 1, state.version
        return Append(now, number, 1, True, None, 0, [said], clears=True, version=version)

    async def erase_owner(self, owner: str) -> None:
        while states := await self._logs.alive(owner):
            for state in states:
                with suppress(NotFoundError):  # another may erase the same owner
                    await self.delete(owner, state.session)
        # Which shelves there are is kept: what a process that stopped here left is found again.
        for log in (*await shelf_logs(self._logs, owner), owner_log(owner, FEED)):
            await self._wipe(log)
        await forget_owner(self._logs, owner)

    async def _wipe(self, log: str) -> None:
        async def decide(state: LogState) -> Decision[None]:
            return WipeLog() if state.n else None, None

        state, _ = await self._logs.change_log(log, log, decide)
        if state.n:
            await sweep(self._logs, state)

    async def statistics(self, owner: str) -> Statistics:
        async def attempt() -> Statistics:
            return await self._logs.read_by(
                await self._logs.alive(owner), lambda views: self._count(owner, views)
            )

        return await again(attempt)

    async def _count(self, owner: str, views: Sequence[LogView]) -> Statistics:
        states = [view.own for view in views]
        now = await self._logs.now()
        shelves = [*await shelf_states(self._logs, owner), *states]
        chats = [it for it in states if it.profile.kind == CHAT]
        return statistics_of(
            [(it.profile.kind, it.profile.state, 1) for it in states],
            messages=sum(state.messages for state in chats) + _left_behind(views),
            overlays=len({laid.stamp for state in states for laid in state.overlays}),
            documents=sum(
                not is_expired(kept, now) for it in shelves for kept in it.documents.values()
            ),
        )


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
        span.last
        - span.first
        + 1
        - sum(it.is_erased for _, it in view.edits_in(span))
        - sum(view.is_mark(it) for it in versions_in(view, span))
        for span, view in deepest.values()
    )

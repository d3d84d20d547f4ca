"""What a program does when it begins again: turns that died are marked, endings finished."""

from __future__ import annotations

import msgspec

from ...errors import ConflictError, IllegalStateError
from ...model import SessionQuery, SessionRecord, TurnRecord
from ...session._async.stored_session import AsyncStoredSession
from ...session._async.turn_lease import holder_of, mark_left
from ...session.settings import DEFAULTS, Setup
from ...session.turn_documents import OPEN_TURN, TURN_RECORDS, OpenTurn
from ..report import RecoveryReport
from .lifecycle import AsyncLifecycle

MOST_DEATHS = 3
"""How often a process may die in the same turn before its session is suspended."""
PAGE = 200


class AsyncRecovery:
    """Recovers one owner's sessions, also those that this process has never loaded."""

    def __init__(self, lifecycle: AsyncLifecycle) -> None:
        self._lifecycle = lifecycle
        self._store = lifecycle.closings.store
        self._owner = lifecycle.closings.owner

    async def run(self) -> RecoveryReport:
        """Mark turns that nobody holds, suspend what dies again and again, finish endings."""
        interrupted, suspended, finished = [], [], []
        for record in await self._all("ending"):
            after = await self._lifecycle.endings.finish(record.id)
            if after is None or after.state != "ending":
                finished.append(record.id)
        for record in await self._all("active"):
            turn = await self._open_turn(record.id)
            if turn is None:
                continue
            interrupted.append(record.id)
            has_died = turn.attempts >= MOST_DEATHS and turn.reason == "died"
            if has_died and await self._suspend(record.id):
                suspended.append(record.id)
        return RecoveryReport(
            interrupted=tuple(interrupted),
            suspended=tuple(suspended),
            finished=tuple(finished),
        )

    async def _open_turn(self, session: str) -> TurnRecord | None:
        """Mark the turn that a dead process left open; return it as it is then."""
        setup = Setup(DEFAULTS, None, None)
        stored = AsyncStoredSession(self._store, self._owner, session, setup, lazy=None)
        document = await stored.find_document(OPEN_TURN)
        if document is None or await holder_of(stored) is not None:
            return None
        turn = stored.decoded(OPEN_TURN, document, OpenTurn).turn
        if not await mark_left(stored):
            return None
        return await stored.load_document(TURN_RECORDS + turn, TurnRecord)

    async def _suspend(self, session: str) -> bool:
        try:
            await self._lifecycle.states.suspend(session, "crashes")
        except (IllegalStateError, ConflictError):
            return False
        return True

    async def _all(self, state: str) -> list[SessionRecord]:
        """List the sessions in a state; in those that are active, only such with an open turn."""
        found: list[SessionRecord] = []
        query = SessionQuery(kind=None, state=state, limit=PAGE)
        while True:
            page = await self._store.list_sessions(self._owner, query)
            found += (
                await self._with_open_turn(page.sessions) if state == "active" else (page.sessions)
            )
            if page.cursor is None:
                return found
            query = msgspec.structs.replace(query, cursor=page.cursor)

    async def _with_open_turn(self, records: list[SessionRecord]) -> list[SessionRecord]:
        ends = await self._store.find_recent(
            self._owner, [it.id for it in records], document=OPEN_TURN
        )
        return [
            record
            for record, end in zip(records, ends, strict=True)
            if end is not None and end.document is not None
        ]

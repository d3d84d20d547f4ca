"""Work on sessions."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import AlreadyExistsError, StaleVersionError
from ...model import (
    NewSession,
    Root,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
)
from ...rules.tree import Place
from ..base._sync.unit import Sessions
from .forking import detach, fork
from .listing import page_of
from .lookup import get_place, get_session
from .record import apply_patch, enter, new_row, record_of
from .retiring import retire, retire_all
from .state import SessionRow, State
from .view import PINS, is_expired, settle_sum


class MemorySessions(Sessions):
    """Work on sessions."""

    def __init__(self, state: State) -> None:
        self._state = state

    def create(self, owner: str, new: NewSession) -> SessionRecord:
        state = self._state
        if new.id in state.sessions.get(owner, {}):
            raise AlreadyExistsError(f"session {new.id!r} exists already: choose another id")
        if new.parent is not None:
            get_session(state, owner, new.parent.session)
        if new.fork is None:
            row = new_row(state, owner, new, None)
        else:
            source = get_session(state, owner, new.fork.session)
            place = _fork_place(state, source, new.fork.message)
            row = new_row(state, owner, new, source)
            (detach if new.fork.detach else fork)(state, row, source, place)
        enter(state, row)
        return record_of(state, row)

    def find(self, owner: str, session: str) -> SessionRecord | None:
        row = self._state.sessions.get(owner, {}).get(session)
        return None if row is None else record_of(self._state, row)

    def update(
        self, owner: str, session: str, patch: SessionPatch, expected_version: int | None
    ) -> SessionRecord:
        row = get_session(self._state, owner, session)
        if expected_version is not None and row.version != expected_version:
            raise StaleVersionError(
                f"session {session!r} is at version {row.version}, not {expected_version}: "
                "read it again, then decide"
            )
        apply_patch(row, patch)
        row.version += 1
        return record_of(self._state, row)

    def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord:
        row = get_session(self._state, owner, session)
        row.tip = get_place(self._state, row, message)
        settle_sum(self._state, row)
        return record_of(self._state, row)

    def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        rows, cursor = page_of(self._state.sessions.get(owner, {}).values(), query)
        return SessionPage(sessions=[record_of(self._state, row) for row in rows], cursor=cursor)

    def delete(self, owner: str, session: str) -> None:
        row = get_session(self._state, owner, session)
        retire(self._state, row, self._state.clock())
        del self._state.sessions[owner][session]

    def clear(self, owner: str, session: str) -> SessionRecord:
        row = get_session(self._state, owner, session)
        retire(self._state, row, self._state.clock())
        _begin_anew(self._state, row)
        return record_of(self._state, row)

    def erase_owner(self, owner: str) -> None:
        retire_all(self._state, self._state.sessions.pop(owner, {}).values())
        self._state.documents.pop(owner, None)
        self._state.feeds.pop(owner, None)

    def statistics(self, owner: str) -> Statistics:
        state = self._state
        now = state.clock()
        rows = state.sessions.get(owner, {}).values()
        shelves = [state.documents.get(owner, {}), *(row.documents for row in rows)]
        return Statistics(
            sessions=len(rows),
            messages=sum(row.messages for row in rows) + _left_behind(state, rows),
            overlays=len({number for row in rows for number in row.overlays}),
            documents=sum(
                not is_expired(document, now) for shelf in shelves for document in shelf.values()
            ),
        )


def _left_behind(state: State, rows: Iterable[SessionRow]) -> int:
    """Count the live messages that sessions inherited of homes that are gone."""
    gone = {home for row in rows for home in row.inherited} - state.homes.keys()
    segments = [it for it in state.segments.values() if it.home in gone] if gone else []
    return sum(message.body is not None for it in segments for message in it.rows)


def _fork_place(state: State, source: SessionRow, message: str | Root | None) -> Place | None:
    return source.tip if message is None else get_place(state, source, message)


def _begin_anew(state: State, row: SessionRow) -> None:
    """Let a session whose home was retired go on, empty, under a new one."""
    row.home = state.next_number()
    row.tip = row.fork = None
    row.inherited = ()
    row.segments, row.overlays, row.ends = [], {}, {}
    row.messages = row.context_tokens = 0
    row.documents = {
        key: document
        for key, document in row.documents.items()
        if key != PINS and document.expires_us is None
    }
    row.version += 1
    enter(state, row)

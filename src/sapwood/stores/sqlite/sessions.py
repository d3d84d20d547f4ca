"""Work on sessions: make, find, change, move, retire."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

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
from ...rules.codec import encode_json
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from ..relational.rows import SessionRow
from . import listing
from .connection import Connection
from .erasure import note_erasure_apart
from .forking import fork_session
from .lookup import SESSION_COLUMNS, find_session, get_pos, get_session
from .owners import find_owner, own_number
from .rows import CONTEXT_IN_RECORD, RECORD_COLUMNS, RECORD_TABLES, record_of
from .standing import put_standing
from .sums import context_at, keep_context_at
from .sweep import retire
from .usage_totals import take_session

_RECORD = (
    f"SELECT {RECORD_COLUMNS} FROM {RECORD_TABLES}"
    " WHERE s.owner = (SELECT number FROM owner WHERE name = ?) AND s.id = ?"
)


# What sessions still see of homes that are gone; after a deletion, once the rest was swept.
_LEFT_BEHIND = (
    "WITH RECURSIVE up (home) AS (SELECT d.above FROM session s JOIN descent d ON d.home = s.home"
    " WHERE s.owner = ? UNION SELECT d.above FROM up JOIN descent d ON d.home = up.home)"
    " SELECT count(*) FROM up CROSS JOIN segment g ON g.home = up.home CROSS JOIN message m"
    f" ON m.pos BETWEEN g.number << {DEPTH_BITS} AND g.number << {DEPTH_BITS} | {MAX_DEPTH}"
    " WHERE m.body IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session h WHERE h.home = up.home)"
)


class SqliteSessions:
    """Work on sessions."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx
        self.left_to_sweep = False

    def create(self, owner: str, new: NewSession) -> SessionRecord:
        """Create a session."""
        if find_session(self._tx, owner, new.id) is not None:
            raise AlreadyExistsError(f"there is a session {new.id!r} already: open that one")
        if new.parent is not None:
            get_session(self._tx, owner, new.parent.session)
        source = None
        if new.fork is not None:
            source = get_session(self._tx, owner, new.fork.session)
        number = self._insert(own_number(self._tx, owner), new)
        row = get_session(self._tx, owner, new.id)
        self._insert_profile(number, new, source)
        if new.fork is not None and source is not None:
            fork_session(self._tx, row, source, new.fork)
        return self._get(owner, new.id)

    def _insert(self, owner: int, new: NewSession) -> int:
        now = self._tx.clock() if new.created_us is None else new.created_us
        home = next_home(self._tx)
        number: int = self._tx.value(
            "INSERT INTO session (owner, id, home, tree, tip, grows, fork, lead, apart, overlays,"
            " edited, version, created_at, active_at, active_s)"
            " VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 1, ?, ?, ?) RETURNING number",
            (owner, new.id, home, home, now, now, now // 1_000_000),
        )
        return number

    def _insert_profile(self, number: int, new: NewSession, source: SessionRow | None) -> None:
        tags, budget, data = "[]", None, b"{}"
        kind, parent = None, None
        if source is not None:
            tags, budget, data = self._tx.row(
                "SELECT tags, budget, data FROM profile WHERE session = ?", (source.number,)
            )
            kind, parent = "branch", source.id
        if new.parent is not None:
            kind, parent = new.parent.kind.value, new.parent.session
        self._tx.run(
            "INSERT INTO profile (session, title, state, tags, budget, parent_kind, parent, data)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                new.title,
                new.state,
                tags if new.tags is UNSET else _json_text(new.tags),
                budget if new.budget is UNSET else new.budget,
                kind,
                parent,
                data if new.data is UNSET else encode_json(new.data, "data"),
            ),
        )

    def find(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record."""
        found = self._tx.row(_RECORD, (owner, session))
        if found is None:
            return None
        context = found[CONTEXT_IN_RECORD]
        if context is None:
            return self._find_with_context(owner, session)
        return record_of(found, context)

    def _find_with_context(self, owner: str, session: str) -> SessionRecord | None:
        """Find a record whose context is to be worked out, on one snapshot."""
        with self._tx.snapshot():
            row = find_session(self._tx, owner, session)
            if row is None:
                return None
            context = context_at(self._tx, row, row.tip)
            assert context is not None
            return record_of(self._tx.row(_RECORD, (owner, session)), context)

    def _get(self, owner: str, session: str) -> SessionRecord:
        found = self.find(owner, session)
        assert found is not None
        return found

    def update(
        self, owner: str, session: str, patch: SessionPatch, expected_version: int | None
    ) -> SessionRecord:
        """Change a session's record."""
        row = get_session(self._tx, owner, session)
        if expected_version is not None and row.version != expected_version:
            raise StaleVersionError(
                f"session {session!r} is at version {row.version}, not {expected_version}: "
                "read it again, then decide"
            )
        for sql, value in _assignments(patch):
            self._tx.run(sql, (value, row.number))
        self._tx.run("UPDATE session SET version = version + 1 WHERE number = ?", (row.number,))
        return self._get(owner, session)

    def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord:
        """Move the tip."""
        row = get_session(self._tx, owner, session)
        pos = get_pos(self._tx, row, message)
        moved = row._replace(tip=pos)
        put_standing(self._tx, moved._replace(context=keep_context_at(self._tx, moved, pos)))
        return self._get(owner, session)

    def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        """List sessions."""
        return listing.list_page(self._tx, owner, query, self._get)

    def delete(self, owner: str, session: str) -> None:
        """Delete a session; its messages are left to be swept."""
        self._delete(get_session(self._tx, owner, session))

    def _delete(self, row: SessionRow) -> None:
        retire(self._tx, row)
        take_session(self._tx, row.owner, row.number)
        for table, column in (
            ("session", "number"),
            ("profile", "session"),
            ("usage", "session"),
            ("document", "owner = ? AND session"),
        ):
            args = (row.owner, row.number) if table == "document" else (row.number,)
            self._tx.run(f"DELETE FROM {table} WHERE {column} = ?", args)
        self.left_to_sweep = True

    def clear(self, owner: str, session: str) -> SessionRecord:
        """Retire a session's messages and go on under a new number."""
        row = get_session(self._tx, owner, session)
        retire(self._tx, row)
        self._tx.run(
            "UPDATE session SET home = ?, tree = ?, tip = 0, grows = 0, fork = 0, lead = 0,"
            " apart = 0, active_at = ?, overlays = 0, edited = 0, version = version + 1"
            " WHERE number = ?",
            ((home := next_home(self._tx)), home, row.active_at, row.number),
        )
        self._tx.run(
            "DELETE FROM document WHERE owner = ? AND session = ?"
            " AND (key = 'pins' OR expires_at IS NOT NULL)",
            (row.owner, row.number),
        )
        self.left_to_sweep = True
        return self._get(owner, session)

    def erase_owner(self, owner: str) -> None:
        """Delete all that an owner has."""
        number = find_owner(self._tx, owner)
        if number is None:
            return
        sql = f"SELECT {SESSION_COLUMNS} FROM standing s WHERE owner = ?"
        for row in self._tx.rows(sql, (number,)):
            self._delete(SessionRow._make(row))
        for table in ("document", "reader"):
            self._tx.run(f"DELETE FROM {table} WHERE owner = ?", (number,))
        # Nobody's from now on: their numbers say how far the search index has followed.
        self._tx.run(
            "UPDATE change SET owner = 0, session = 0, name = NULL WHERE owner = ?", (number,)
        )
        self._tx.run("DELETE FROM owner WHERE number = ?", (number,))
        # Documents go without a session, too.
        note_erasure_apart(self._tx)

    def statistics(self, owner: str) -> Statistics:
        """Count what an owner has."""
        number = find_owner(self._tx, owner)
        sessions, messages = self._tx.row(
            "SELECT count(*), coalesce(sum(messages), 0) FROM standing WHERE owner = ?", (number,)
        )
        messages += self._tx.value(_LEFT_BEHIND, (number,))
        overlays = self._tx.value(
            "SELECT count(DISTINCT f.overlay) FROM session s JOIN in_force f"
            " ON f.session = s.number WHERE s.owner = ?",
            (number,),
        )
        documents = self._tx.value(
            "SELECT count(*) FROM document WHERE owner = ?"
            " AND (expires_at IS NULL OR expires_at > ?)",
            (number, self._tx.clock()),
        )
        return Statistics(
            sessions=sessions, messages=messages, overlays=overlays, documents=documents
        )


def next_home(tx: Connection) -> int:
    """Give a home number that was never given before."""
    number: int = tx.value(
        "UPDATE sequence SET value = value + 1 WHERE name = 'home' RETURNING value"
    )
    return number


def _json_text(tags: list[str]) -> str:
    return msgspec.json.encode(tags).decode()


def _assignments(patch: SessionPatch) -> list[tuple[str, Any]]:
    """Give the statements that carry out a patch."""
    values = {
        "UPDATE profile SET title = ? WHERE session = ?": patch.title,
        "UPDATE profile SET state = ? WHERE session = ?": patch.state,
        "UPDATE profile SET budget = ? WHERE session = ?": patch.budget,
        "UPDATE profile SET tags = ? WHERE session = ?": (
            UNSET if patch.tags is UNSET else _json_text(patch.tags)
        ),
        "UPDATE profile SET data = ? WHERE session = ?": (
            UNSET if patch.data is UNSET else encode_json(patch.data, "data")
        ),
    }
    return [(sql, value) for sql, value in values.items() if value is not UNSET]

"""Statements about sessions and pages of them. There is one writer at a time: nothing is locked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal

import msgspec

from ...model import CHAT, SessionRecord
from ...rules.codec import decode_json
from ..relational._sync.sessions import SessionStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from ..relational.rows import (
    TAGS_IN_RECORD,
    TITLE_IN_RECORD,
    Profile,
    Row,
    SessionRow,
    new_row,
    record_of,
)
from .connection import Connection
from .feed import note_erasure_apart, tell_record
from .lookup import SESSION_COLUMNS, find_owner
from .rows import RECORD_COLUMNS, RECORD_TABLES
from .standing import put_standing
from .usage import take_session

_RECORD = (
    f"SELECT {RECORD_COLUMNS} FROM {RECORD_TABLES}"
    " WHERE s.owner = (SELECT number FROM owner WHERE name = ?) AND s.id = ?"
)
_INSERT = (
    "INSERT INTO session (owner, id, home, tree, tip, grows, fork, lead, apart, overlays,"
    " edited, version, created_at, active_at, active_s, kind, updated_at, state)"
    " VALUES (?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?) RETURNING number"
)
_INSERT_PROFILE = (
    "INSERT INTO profile (session, title, state, tags, budget, parent_kind, parent,"
    " attributes, model, source, end_reason, system, system_key, title_key)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_TAGS = "INSERT INTO tag SELECT DISTINCT ?1, value, ?2 FROM json_each(?3)"
# Its profile says which it has, so that no others are looked at.
_DELETE_TAGS = (
    "DELETE FROM tag WHERE owner = ?1 AND session = ?2 AND tag IN (SELECT j.value"
    " FROM profile p, json_each(p.tags) j WHERE p.session = ?2)"
)
_EMPTY = (
    "UPDATE session SET home = ?1, tree = ?1, tip = 0, grows = 0, fork = 0, lead = 0, apart = 0,"
    " active_at = ?2, overlays = 0, edited = 0, has_data = 0, version = version + 1,"
    " updated_at = ?4 WHERE number = ?3"
)
_OF_OWNER = f"SELECT {SESSION_COLUMNS} FROM standing s WHERE owner = ? LIMIT ?"
# What sessions still see of homes that are gone; after a deletion, once the rest was swept.
_LEFT_BEHIND = (
    "WITH RECURSIVE up (home) AS (SELECT d.above FROM session s JOIN descent d ON d.home = s.home"
    " WHERE s.owner = ?1 UNION SELECT d.above FROM up JOIN descent d ON d.home = up.home)"
    " SELECT count(*) FROM up CROSS JOIN segment g ON g.home = up.home CROSS JOIN message m"
    f" ON m.pos BETWEEN g.number << {DEPTH_BITS} AND g.number << {DEPTH_BITS} | {MAX_DEPTH}"
    " WHERE m.body IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session h WHERE h.home = up.home)"
)
_COUNT = (
    f"SELECT coalesce(sum(messages), 0) + ({_LEFT_BEHIND}),"
    " (SELECT count(DISTINCT f.overlay) FROM session s JOIN in_force f ON f.session = s.number"
    " WHERE s.owner = ?1),"
    " (SELECT count(*) FROM document WHERE owner = ?1 AND (expires_at IS NULL OR expires_at > ?2))"
    f" FROM standing WHERE owner = ?1 AND kind = '{CHAT}'"
)
_COUNT_SESSIONS = (
    "SELECT s.kind, p.state, count(*) FROM session s JOIN profile p ON p.session = s.number"
    " WHERE s.owner = ? GROUP BY s.kind, p.state"
)
_PUT_VERSION = "UPDATE session SET version = ?, updated_at = ? WHERE number = ?"
# The tip comes along: what follows the one that stands there would say when it was active.
_PUT_ACTIVITY = "UPDATE session SET tip = ?, active_at = ?, active_s = ? WHERE number = ?"
_FLOOR = "SELECT value FROM sequence WHERE name = 'floor'"
_RAISE_FLOOR = "UPDATE sequence SET value = ?1 WHERE name = 'floor' AND value < ?1"


class SqliteSessionStatements(SessionStatements[Connection]):
    """Statements about sessions."""

    def find_record(self, owner: str, session: str) -> Row | None:
        found: Row | None = self._tx.row(_RECORD, (owner, session))
        return found

    def record_of(self, row: Row, context: int) -> SessionRecord:
        tags = row[TAGS_IN_RECORD]
        shown = [] if tags == "[]" else decode_json(tags, f"session {row[0]!r}")
        return record_of(row, context, row[TITLE_IN_RECORD], shown)

    def snapshot(self) -> AbstractContextManager[None]:
        return self._tx.snapshot()

    def pack_title(self, title: str | None) -> str | None:
        return title

    def pack_tags(self, tags: list[str]) -> str:
        return msgspec.json.encode(tags).decode()

    def inherited_profile(self, source: SessionRow) -> Row:
        found: Row = self._tx.row(
            "SELECT tags, budget, attributes, model, source FROM profile WHERE session = ?",
            (source.number,),
        )
        return found

    def insert(
        self,
        owner: str,
        number: int,
        id: str,
        now: int,
        tree: int | None,
        kind: str,
        profile: Profile,
    ) -> SessionRow:
        version = (self._tx.value(_FLOOR) or 0) + 1
        row = new_row(number, id, _next_home(self._tx), now, version, kind)
        figures = (row.version, row.created_at, row.active_at, row.active_s, kind, self._tx.clock())
        place = (row.owner, id, row.home, row.tree)
        made = self._tx.value(_INSERT, (*place, *figures, profile.state))
        self._tx.run(_INSERT_PROFILE, (made, *profile))
        row = row._replace(number=made)
        self._put_tags(row, profile.tags)
        return row

    def _put_tags(self, session: SessionRow, tags: str) -> None:
        if tags != "[]":
            self._tx.run(_INSERT_TAGS, (session.owner, session.number, tags))

    def put_profile(self, session: SessionRow, columns: Mapping[str, Any]) -> None:
        put = ", ".join(f"{column} = ?" for column in columns)
        sql = f"UPDATE profile SET {put} WHERE session = ?"
        self._tx.run(sql, (*columns.values(), session.number))

    def change(
        self,
        session: SessionRow,
        columns: Mapping[str, Any],
        closed: bool | None,
        active_us: int | None,
    ) -> None:
        if "tags" in columns:
            self._tx.run(_DELETE_TAGS, (session.owner, session.number))
            self._put_tags(session, columns["tags"])
        if columns:
            self.put_profile(session, columns)
        if active_us is not None:
            activity = (session.tip, active_us, active_us // 1_000_000)
            self._tx.run(_PUT_ACTIVITY, (*activity, session.number))
        figures = {"version": session.version + 1, "updated_at": self._tx.clock()}
        if closed is not None:
            figures["closed"] = int(closed)
        if "state" in columns:
            figures["state"] = columns["state"]
        put = ", ".join(f"{column} = ?" for column in figures)
        sql = f"UPDATE session SET {put} WHERE number = ?"
        self._tx.run(sql, (*figures.values(), session.number))

    def tell(self, session: SessionRow) -> None:
        tell_record(self._tx, session)

    def held(self, session: SessionRow, column: Literal["attributes", "system"]) -> bytes:
        sql = f"SELECT {column} FROM profile WHERE session = ?"
        held: bytes = self._tx.value(sql, (session.number,))
        return held

    def place(self, session: SessionRow) -> None:
        put_standing(self._tx, session)
        self._tx.run(_PUT_VERSION, (session.version, self._tx.clock(), session.number))

    def empty(self, session: SessionRow) -> None:
        self._tx.run(
            _EMPTY,
            (_next_home(self._tx), session.active_at, session.number, self._tx.clock()),
        )
        self._tx.run(
            "DELETE FROM document WHERE owner = ? AND session = ?"
            " AND (key = 'pins' OR expires_at IS NOT NULL OR NOT inherit)",
            (session.owner, session.number),
        )

    def delete(self, session: SessionRow) -> None:
        self._tx.run(_RAISE_FLOOR, (session.version,))
        take_session(self._tx, session.owner, session.number)
        self._tx.run(_DELETE_TAGS, (session.owner, session.number))
        for table, column in (("session", "number"), ("profile", "session"), ("usage", "session")):
            self._tx.run(f"DELETE FROM {table} WHERE {column} = ?", (session.number,))
        documents = "DELETE FROM document WHERE owner = ? AND session = ?"
        self._tx.run(documents, (session.owner, session.number))

    def lock_owner(self, name: str) -> int | None:
        return find_owner(self._tx, name)

    def lock_some(self, owner: str, number: int, most: int) -> list[SessionRow | None]:
        return [SessionRow._make(row) for row in self._tx.rows(_OF_OWNER, (number, most))]

    def erase_rest(self, owner: int) -> None:
        for table in ("document", "reader"):
            self._tx.run(f"DELETE FROM {table} WHERE owner = ?", (owner,))
        # Nobody's from now on: their numbers say how far the search index has followed.
        self._tx.run(
            "UPDATE change SET owner = 0, session = 0, name = NULL WHERE owner = ?", (owner,)
        )
        self._tx.run("DELETE FROM owner WHERE number = ?", (owner,))
        # Documents go without a session, too.
        note_erasure_apart(self._tx)

    def count(self, owner: int, now: int) -> Row:
        found: Row = self._tx.row(_COUNT, (owner, now))
        return found

    def count_sessions(self, owner: int) -> list[Row]:
        return list(self._tx.rows(_COUNT_SESSIONS, (owner,)))


def _next_home(tx: Connection) -> int:
    """Return a home number that was never given before."""
    return int(
        tx.value("UPDATE sequence SET value = value + 1 WHERE name = 'home' RETURNING value")
    )

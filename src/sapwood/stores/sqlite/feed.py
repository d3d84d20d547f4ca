"""The change feed: one row for each unit of work that changed messages, and for each that changed a
session's record, in commit order. The latter have the record's version in place of positions.

Erasures that the file has yet to forget are noted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model import Change, ChangedOwners
from ..base.feed_age import KEPT_AT_LEAST_US, KEPT_AT_MOST_US
from ..base.refusals import cursor_ahead, feed_trimmed
from ..relational._sync.feed import FeedStatements
from ..relational.changes import FeedCursor, change_of, read_feed_cursor, record_change_of
from ..relational.rows import (
    CHANGE_KINDS,
    KIND_DELETE,
    KIND_RECORD,
    KIND_RETIRE,
    MARK,
    Row,
    SessionRow,
)
from .connection import Connection

# For the search index alone: rows that a sweep removed, overlays that came and went, and what says
# something else without being changed (an overlay then is its number below 0).
KIND_GONE, KIND_COVER, KIND_UNCOVER = range(5, 8)
KIND_REWRITE = 9
NOBODY = 0

_RECORD = (
    "INSERT INTO change (owner, session, kind, first, last, at, name, tree)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_TOLD = (
    "SELECT m.id, m.pos, m.version, coalesce(h.id, s.id) AS name, coalesce(h.tree, ?2, s.tree)"
    " FROM message m LEFT JOIN session h ON h.home = m.home LEFT JOIN session s ON s.number = ?1"
    " WHERE m.pos BETWEEN ?3 AND ?4 AND name IS NOT NULL"
    f" AND (m.body IS NOT NULL OR m.role <> '{MARK}') ORDER BY m.pos LIMIT ?5"
)
_AFTER = (
    "SELECT seq, session, kind, first, last, at, name, tree FROM change"
    " WHERE owner = ? AND seq > ? ORDER BY seq LIMIT ?"
)
_LOSE_READERS = (
    "DELETE FROM reader WHERE EXISTS (SELECT 1 FROM change c"
    " WHERE c.owner = reader.owner AND c.seq > reader.seq AND c.at < ?)"
)
_IS_OLD = (
    "seq < (SELECT max(seq) FROM change) AND at < ? AND NOT EXISTS"
    " (SELECT 1 FROM reader r WHERE r.owner = change.owner AND r.seq < change.seq)"
)
_OWNERS_AFTER = (
    "SELECT c.seq, o.name FROM change c LEFT JOIN owner o ON o.number = c.owner"
    " WHERE c.seq > ? ORDER BY c.seq LIMIT ?"
)
_PAGE = 200
_SKIMMED = 5_000


def record_change(
    tx: Connection,
    session: SessionRow,
    kind: int,
    first: int,
    last: int,
    now: int,
    name: str | None = None,
    tree: int | None = None,
) -> None:
    """Note what this unit of work did to messages."""
    tx.run(_RECORD, (session.owner, session.number, kind, first, last, now, name, tree))


def tell_record(tx: Connection, session: SessionRow, kind: int = KIND_RECORD) -> None:
    """Note that a session's record was made or changed, or is retired, at its version."""
    version, now = session.version, tx.clock()
    record_change(tx, session, kind, version, version, now, session.id, session.tree)


def record_removal(tx: Connection, kind: int, first: int, last: int) -> None:
    """Note what the search index has to forget, whoever's it was."""
    tx.run(_RECORD, (NOBODY, NOBODY, kind, first, last, tx.clock(), None, None))


def latest_seq(tx: Connection) -> int:
    """Return the number of the newest change, which dates a snapshot."""
    return tx.value("SELECT max(seq) FROM change") or 0


class SqliteFeedStatements(FeedStatements[Connection]):
    """Statements about the feed.

    A cursor is the last row that was read whole, and how many positions of the next one were, too.
    """

    beginning = (0, 0)

    def is_lost(self, owner: int | None, cursor: FeedCursor) -> tuple[bool, bool]:
        trimmed = self._tx.value("SELECT trimmed FROM owner WHERE number = ?", (owner,)) or 0
        return cursor > (latest_seq(self._tx), 0), cursor[0] < trimmed

    def after(
        self, owner: int | None, cursor: FeedCursor, most: int, bound: FeedCursor
    ) -> Iterator[tuple[FeedCursor, Change | None]]:
        seq, done = cursor
        for row in self._rows_after(owner, seq, min(most, _PAGE)):
            for told, change in self._expand(row, done, most):
                yield (seq, told), change
            seq, done = row[0], 0
            yield (seq, done), None

    def _rows_after(self, owner: int | None, seq: int, some: int) -> Iterator[Row]:
        while rows := self._tx.rows(_AFTER, (owner, seq, some)):
            yield from rows
            seq = rows[-1][0]

    def _expand(self, row: Row, done: int, most: int) -> list[tuple[int, Change]]:
        """Return the changes after those that were told, each with how far it is from the first."""
        _, session, kind, first, last, at, name, tree = row
        if kind in (KIND_RETIRE, KIND_RECORD):
            return [(1, record_change_of(kind, name, tree, first, at))][done:]
        if kind not in CHANGE_KINDS:
            return []
        # A message whose home is gone is only heard of again when another session deletes it.
        actor = session if kind == KIND_DELETE else 0
        rows = self._tx.rows(_TOLD, (actor, tree, first + done, last, most))
        return [
            (pos - first + 1, change_of(kind, home, id, tree, pos, version, at))
            for id, pos, version, home, tree in rows
        ]

    def newest(self, owner: int) -> FeedCursor:
        found = self._tx.value("SELECT max(seq) FROM change WHERE owner = ?", (owner,))
        trimmed = self._tx.value("SELECT trimmed FROM owner WHERE number = ?", (owner,))
        return max(found or 0, trimmed), 0

    def put_reader(self, owner: int, reader: str, cursor: FeedCursor) -> None:
        self._tx.run(
            "INSERT INTO reader VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq",
            (owner, reader, cursor[0]),
        )

    def drop_reader(self, owner: int, reader: str) -> bool:
        sql = "DELETE FROM reader WHERE owner = ? AND name = ? RETURNING 1"
        return self._tx.value(sql, (owner, reader)) is not None


def trim_feed(tx: Connection) -> None:
    """Remove what its owner's readers have all seen and is old enough; the newest row stays."""
    now = tx.clock()
    tx.run(_LOSE_READERS, (now - KEPT_AT_MOST_US,))
    old = (now - KEPT_AT_LEAST_US,)
    # Never back: rows that a clock dated ahead of its time are trimmed after later ones.
    for owner, seq in tx.rows(
        f"SELECT owner, max(seq) FROM change WHERE {_IS_OLD} GROUP BY owner", old
    ):
        tx.run("UPDATE owner SET trimmed = max(trimmed, ?) WHERE number = ?", (seq, owner))
        tx.run("UPDATE sequence SET value = max(value, ?) WHERE name = 'trimmed'", (seq,))
    tx.run(f"DELETE FROM change WHERE {_IS_OLD}", old)


def changed_owners(tx: Connection, after: str, limit: int) -> ChangedOwners:
    """List the owners of what follows a number in the feed of all."""
    (seq,), newest = read_feed_cursor(after, (0,)), latest_seq(tx)
    if seq > newest:
        raise cursor_ahead(after)
    if seq and seq < tx.value("SELECT value FROM sequence WHERE name = 'trimmed'"):
        raise feed_trimmed(after)
    owners: dict[str, None] = {}
    for at, name in tx.rows(_OWNERS_AFTER, (seq, _SKIMMED)):
        if name is not None and name not in owners and len(owners) == limit:
            break
        # What is nobody's is passed over.
        owners |= {} if name is None else {name: None}
        seq = at
    return ChangedOwners(owners=list(owners), cursor=str(seq), more=seq < newest)


def note_erasure(tx: Connection) -> None:
    """Note that something was deleted; called after its change was recorded."""
    tx.run("INSERT OR IGNORE INTO erased VALUES (?)", (latest_seq(tx),))


def note_erasure_apart(tx: Connection) -> None:
    """Note that something was deleted that is no part of the feed, under a change of its own."""
    record_removal(tx, KIND_GONE, 0, 0)
    note_erasure(tx)


def latest_erasure(tx: Connection) -> int | None:
    """Return the newest erasure that the file has yet to forget."""
    found: int | None = tx.value("SELECT max(seq) FROM erased")
    return found


def forget_erasures(tx: Connection, until: int) -> None:
    """Note that the file was rewritten after an erasure."""
    tx.run("DELETE FROM erased WHERE seq <= ?", (until,))

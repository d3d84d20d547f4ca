"""The change feed: one row for each unit of work that changed messages, in commit order.

Erasures that the file has yet to forget are noted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model import Change
from ..relational._sync.feed import FeedStatements
from ..relational.rows import (
    CHANGE_KINDS,
    KEPT_AT_LEAST_US,
    MARK,
    FeedCursor,
    Row,
    SessionRow,
    change_of,
    retirement,
)
from .connection import Connection

KIND_APPEND, KIND_UPDATE, KIND_DELETE, KIND_RETIRE = range(1, 5)
# For the search index alone: rows that a sweep removed, and overlays that came and went.
KIND_GONE, KIND_COVER, KIND_UNCOVER = range(5, 8)
NOBODY = 0

_RECORD = (
    "INSERT INTO change (owner, session, kind, first, last, at, name) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_TOLD = (
    "SELECT m.id, m.pos, coalesce(h.id, s.id) AS name FROM message m"
    " LEFT JOIN session h ON h.home = m.home LEFT JOIN session s ON s.number = ?"
    " WHERE m.pos BETWEEN ? AND ? AND name IS NOT NULL"
    f" AND (m.body IS NOT NULL OR m.role <> '{MARK}') ORDER BY m.pos LIMIT ?"
)
_AFTER = (
    "SELECT seq, owner, session, kind, first, last, at, name FROM change"
    " WHERE seq > ? ORDER BY seq LIMIT ?"
)
_PAGE = 200
_PAGES_AT_MOST = 50


def record_change(
    tx: Connection,
    session: SessionRow,
    kind: int,
    first: int,
    last: int,
    now: int,
    name: str | None = None,
) -> None:
    """Note what this unit of work did to messages."""
    tx.run(_RECORD, (session.owner, session.number, kind, first, last, now, name))


def record_removal(tx: Connection, kind: int, first: int, last: int) -> None:
    """Note what the search index has to forget, whoever's it was."""
    tx.run(_RECORD, (NOBODY, NOBODY, kind, first, last, tx.clock(), None))


def latest_seq(tx: Connection) -> int:
    """Return the number of the newest change, which dates a snapshot."""
    return tx.value("SELECT max(seq) FROM change") or 0


class SqliteFeedStatements(FeedStatements[Connection]):
    """Statements about the feed.

    A cursor is the last row that was read whole, and how many positions of the next one were, too.
    """

    beginning = (0, 0)

    def is_lost(self, owner: int | None, cursor: FeedCursor) -> tuple[bool, bool]:
        trimmed = self._tx.value("SELECT value FROM sequence WHERE name = 'trimmed'")
        return cursor > (latest_seq(self._tx), 0), cursor[0] < trimmed

    def after(
        self, owner: int | None, cursor: FeedCursor, most: int, bound: int
    ) -> Iterator[tuple[FeedCursor, Change | None]]:
        """Iterate over changes; a bounded number of other owners' rows is passed over."""
        seq, done = cursor
        for row in self._rows_after(seq):
            for told, change in self._expand(row, done, most) if row[1] == owner else ():
                yield (seq, told), change
            seq, done = row[0], 0
            yield (seq, done), None

    def _rows_after(self, seq: int) -> Iterator[Row]:
        for _ in range(_PAGES_AT_MOST):
            rows = self._tx.rows(_AFTER, (seq, _PAGE))
            yield from rows
            if len(rows) < _PAGE:
                return
            seq = rows[-1][0]

    def _expand(self, row: Row, done: int, most: int) -> list[tuple[int, Change]]:
        """Return the changes after those that were told, each with how far it is from the first."""
        _, _, session, kind, first, last, at, name = row
        if kind == KIND_RETIRE:
            return [(1, retirement(name, at))][done:]
        if kind not in CHANGE_KINDS:
            return []
        # A message whose home is gone is only heard of again when another session deletes it.
        actor = session if kind == KIND_DELETE else 0
        rows = self._tx.rows(_TOLD, (actor, first + done, last, most))
        return [(pos - first + 1, change_of(kind, home, id, pos, at)) for id, pos, home in rows]

    def has_more(self, owner: int | None, cursor: FeedCursor) -> bool:
        return cursor[0] < latest_seq(self._tx)

    def put_reader(self, owner: int, reader: str, cursor: FeedCursor) -> None:
        self._tx.run(
            "INSERT INTO reader VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq",
            (owner, reader, cursor[0]),
        )


def trim_feed(tx: Connection) -> None:
    """Remove what every registered reader has seen and is old enough; the newest row stays."""
    slowest = tx.value("SELECT min(seq) FROM reader")
    newest = latest_seq(tx)
    limit = newest - 1 if slowest is None else min(slowest, newest - 1)
    old = (limit, tx.clock() - KEPT_AT_LEAST_US)
    trimmed = tx.value("SELECT max(seq) FROM change WHERE seq <= ? AND at < ?", old)
    if trimmed is not None:
        tx.run("DELETE FROM change WHERE seq <= ? AND at < ?", old)
        # Never back: rows that a clock dated ahead of its time are trimmed after later ones.
        tx.run("UPDATE sequence SET value = max(value, ?) WHERE name = 'trimmed'", (trimmed,))


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

"""The change feed: one row for each unit of work that changed messages, in commit order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...errors import NotFoundError, UsageError
from ...model import Change, ChangeKind, Changes
from ..base.refusals import cursor_ahead
from .connection import Connection
from .lookup import SessionRow
from .owners import find_owner, own_number
from .position import MAX_DEPTH

KIND_APPEND, KIND_UPDATE, KIND_DELETE, KIND_RETIRE = range(1, 5)
# For the search index alone: rows that a sweep removed, and overlays that came and went.
KIND_GONE, KIND_COVER, KIND_UNCOVER = range(5, 8)
NOBODY = 0
KEPT_AT_LEAST_US = 24 * 3600 * 1_000_000

_KINDS = {
    KIND_APPEND: ChangeKind.APPEND,
    KIND_UPDATE: ChangeKind.UPDATE,
    KIND_DELETE: ChangeKind.DELETE,
    KIND_RETIRE: ChangeKind.RETIRE,
}
_RECORD = (
    "INSERT INTO change (owner, session, kind, first, last, at, name) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_TOLD = (
    "SELECT m.id, m.pos, coalesce(h.id, s.id) AS name FROM message m"
    " LEFT JOIN session h ON h.home = m.home LEFT JOIN session s ON s.number = ?"
    " WHERE m.pos BETWEEN ? AND ? AND name IS NOT NULL ORDER BY m.pos LIMIT ?"
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
    """Give the number of the newest change, which dates a snapshot."""
    return tx.value("SELECT max(seq) FROM change") or 0


class SqliteFeed:
    """Work on the change feed."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx

    def changes(self, owner: str, after: str, limit: int) -> Changes:
        """Read a page; a bounded number of other owners' rows is passed over."""
        cursor = _Cursor.read(after)
        self._refuse_lost(cursor)
        number = find_owner(self._tx, owner)
        found: list[Change] = []
        for row in self._rows_after(cursor.seq):
            room = limit - len(found)
            unseen = self._expand(row, cursor.done, room + 1) if row[1] == number else []
            for done, change in unseen[:room]:
                found.append(change)
                cursor = cursor._replace(done=done)
            if len(unseen) > room:
                return Changes(changes=found, cursor=str(cursor), more=True)
            cursor = _Cursor(row[0], 0)
        more = cursor.seq < latest_seq(self._tx)
        return Changes(changes=found, cursor=str(cursor), more=more)

    def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""
        cursor = _Cursor.read(after)
        self._refuse_lost(cursor)
        self._tx.run(
            "INSERT INTO reader VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq",
            (own_number(self._tx, owner), reader, cursor.seq),
        )

    def _rows_after(self, seq: int) -> Iterator[tuple[Any, ...]]:
        for _ in range(_PAGES_AT_MOST):
            rows = self._tx.rows(
                "SELECT seq, owner, session, kind, first, last, at, name FROM change"
                " WHERE seq > ? ORDER BY seq LIMIT ?",
                (seq, _PAGE),
            )
            yield from rows
            if len(rows) < _PAGE:
                return
            seq = rows[-1][0]

    def _expand(self, row: tuple[Any, ...], done: int, most: int) -> list[tuple[int, Change]]:
        """Give the changes after those that were told, each with how far it is from the first."""
        _, _, session, kind, first, last, at, name = row
        if kind == KIND_RETIRE:
            gone = Change(kind=ChangeKind.RETIRE, session=name, message=None, depth=None, at_us=at)
            return [(1, gone)][done:]
        if kind not in _KINDS:
            return []
        # A message whose home is gone is only heard of again when another session deletes it.
        actor = session if kind == KIND_DELETE else 0
        rows = self._tx.rows(_TOLD, (actor, first + done, last, most))
        told = _KINDS[kind]
        return [
            (
                pos - first + 1,
                Change(kind=told, session=home, message=id, depth=pos & MAX_DEPTH, at_us=at),
            )
            for id, pos, home in rows
        ]

    def _refuse_lost(self, cursor: _Cursor) -> None:
        if cursor == _BEGINNING:
            return
        if cursor > _Cursor(latest_seq(self._tx), 0):
            raise cursor_ahead(cursor)
        if cursor.seq < self._tx.value("SELECT value FROM sequence WHERE name = 'trimmed'"):
            raise NotFoundError(
                f"the feed was trimmed after cursor {cursor}: read everything again, "
                "and name a reader to keep it",
                kind="cursor",
                id=str(cursor),
            )


class _Cursor(NamedTuple):
    """The last row that was read whole, and how many positions of the next one were, too."""

    seq: int
    done: int

    @classmethod
    def read(cls, text: str) -> _Cursor:
        seq, _, done = (text or "0.0").partition(".")
        if not (
            text.isascii() and seq.isdigit() and done.isdigit() and max(len(seq), len(done)) <= 18
        ):
            raise UsageError(f"{text!r} is not a cursor of this feed", path="after")
        return cls(int(seq), int(done))

    def __str__(self) -> str:
        return f"{self.seq}.{self.done}"


_BEGINNING = _Cursor(0, 0)


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

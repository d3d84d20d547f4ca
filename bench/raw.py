"""The raw side: apsw with the same settings, the same table, prepared statements, and no more."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import accumulate, cycle
from pathlib import Path
from typing import Any, Literal

import apsw
import msgspec

from sapwood.model import Message, NewMessage
from sapwood.rules.codec import Body, pack
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite.connection import CHECKPOINT_PAGES, PAGE_BYTES, WAL_CAP_BYTES

Durability = Literal["full", "normal"]
Record = tuple[Any, ...]

_decode = msgspec.json.Decoder(Body).decode
_encode = msgspec.json.Encoder().encode

HOME = 1
DEPTH_BITS = 24
JOURNAL_LIMIT = WAL_CAP_BYTES
COLUMNS = "pos, home, id, role, tokens, version, created_at, body"

_INSERT = (
    "INSERT INTO message (pos, home, id, role, tokens, path_tokens, digest, version, created_at,"
    " body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE = "UPDATE message SET role = ?, tokens = ?, body = ?, version = version + 1 WHERE pos = ?"
_POINT = "SELECT * FROM message WHERE pos = ?"
_RANGE = f"SELECT {COLUMNS} FROM message WHERE pos BETWEEN ? AND ? ORDER BY pos"
_LAST = f"SELECT {COLUMNS} FROM message WHERE pos BETWEEN ? AND ? ORDER BY pos DESC LIMIT ?"


def clock() -> int:
    """Return the time as the store wants it."""
    return time.time_ns() // 1_000


new_id = IdMaker(clock, os.urandom)


def connect(path: Path, durability: Durability = "full") -> apsw.Connection:
    """Open a connection with the settings that the store uses."""
    raw = apsw.Connection(str(path))
    raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    raw.pragma("trusted_schema", "OFF")
    raw.pragma("page_size", PAGE_BYTES)
    raw.pragma("journal_mode", "WAL")
    raw.wal_autocheckpoint(CHECKPOINT_PAGES)
    raw.pragma("synchronous", "FULL" if durability == "full" else "NORMAL")
    raw.pragma("secure_delete", "ON")
    raw.pragma("journal_size_limit", JOURNAL_LIMIT)
    return raw


def schema_of(path: Path) -> list[str]:
    """Read how a store's message table and its unique index are made."""
    connection = connect(path)
    found = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = 'message' AND sql NOT NULL"
        " ORDER BY type DESC"
    ).fetchall()
    connection.close()
    return [str(sql) for (sql,) in found]


class RawTable:
    """A table of messages, written by hand."""

    def __init__(self, path: Path, schema: list[str], durability: Durability = "full") -> None:
        self.path = path
        self._connection = connect(path, durability)
        for sql in schema:
            self._connection.execute(sql)
        self._run = self._connection.cursor().execute
        self._run_many = self._connection.cursor().executemany
        self._next = 1

    def records(self, messages: Iterable[NewMessage]) -> Iterator[Record]:
        """Make rows ready to be inserted: checked, encoded and counted already."""
        running = 0
        for message in messages:
            it = pack(message, new_id)
            running += it.tokens
            pos, self._next = 1 << DEPTH_BITS | self._next, self._next + 1
            sums = it.tokens, running
            yield (pos, HOME, it.id, it.role, *sums, None, 1, clock(), it.body)

    def endless(self, messages: Iterable[NewMessage]) -> Iterator[Record]:
        """Yield rows without end: the same contents over and over, each time under a new id."""
        for record in cycle(list(self.records(messages))):
            pos, self._next = 1 << DEPTH_BITS | self._next, self._next + 1
            yield (pos, HOME, f"{self._next:030x}", *record[3:])

    def append(self, record: Record) -> None:
        """Insert a row and commit it."""
        run = self._run
        run("BEGIN IMMEDIATE")
        run(_INSERT, record)
        run("COMMIT")

    def append_all(self, records: list[Record]) -> None:
        """Insert rows and commit them together."""
        self._run("BEGIN IMMEDIATE")
        self._run_many(_INSERT, records)
        self._run("COMMIT")

    def append_messages(self, messages: list[NewMessage], tokens: list[int]) -> None:
        """Encode messages and insert them together; what they cost in tokens is known already."""
        first, now = 1 << DEPTH_BITS | self._next, clock()
        self._next += len(messages)
        told = zip(new_id.next(len(messages)), messages, tokens, accumulate(tokens), strict=True)
        self.append_all(
            [
                (pos, HOME, id, it.role, own, sum, None, 1, now, _encode(Body(it.parts)))
                for pos, (id, it, own, sum) in enumerate(told, first)
            ]
        )

    def update(self, pos: int, content: Record) -> None:
        """Change a row's role, tokens and body, and commit it."""
        run = self._run
        run("BEGIN IMMEDIATE")
        run(_UPDATE, (*content, pos))
        run("COMMIT")

    def close(self) -> None:
        """Copy the log back and close."""
        self._connection.close()


class RawReader:
    """Reads a store's own message table by hand."""

    def __init__(self, path: Path) -> None:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        connection.execute("PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY").fetchall()
        self._connection = connection
        self._run = connection.cursor().execute

    def segment(self) -> tuple[int, int]:
        """Return the first and the last position of the longest segment."""
        found: list[Any] = self._run(
            "SELECT min(pos), max(pos) FROM message GROUP BY pos >> 24"
            " ORDER BY count(*) DESC LIMIT 1"
        ).fetchall()
        first, last = found[0]
        return first, last

    def point(self, pos: int) -> Record:
        """Read one row by its key."""
        rows: list[Record] = self._run(_POINT, (pos,)).fetchall()
        return rows[0]

    def history(self, first: int, last: int, session: str) -> list[Message]:
        """Read a range and decode it into the same records."""
        return [_message(row, session) for row in self._run(_RANGE, (first, last)).fetchall()]

    def bodies(self, first: int, last: int) -> Iterator[bytes]:
        """Read the bodies of a range."""
        for (body,) in self._run(
            "SELECT body FROM message WHERE pos BETWEEN ? AND ?", (first, last)
        ):
            yield body

    def last(self, first: int, last: int, limit: int, session: str) -> list[Message]:
        """Read the end of a range and decode it."""
        rows = self._run(_LAST, (first, last, limit)).fetchall()
        return [_message(row, session) for row in reversed(rows)]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _message(row: Record, session: str) -> Message:
    pos, _, id, role, tokens, version, created_at, data = row
    body = _decode(data)
    return Message(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & (1 << DEPTH_BITS) - 1,
        home=session,
        tokens=tokens,
        version=version,
        created_us=created_at,
    )

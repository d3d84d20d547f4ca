"""One connection: its settings, and the few ways in which statements are run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal

import apsw

from ...errors import StoreCorruptError, StoreError
from ...rules.tree import Place
from ..relational.position import unpack_lineage
from .checksum import add_checksum_function
from .inheritance import connect

Durability = Literal["full", "normal"]
Args = Sequence[Any]

# An append touches a few pages and little of each: small ones are less to write and to sync.
PAGE_BYTES = 2_048
CHECKPOINT_PAGES = 2_000
WAL_CAP_BYTES = 64 * 1024 * 1024
POLL_S = 0.001
ROWS_AT_ONCE = 25


class Connection:
    """A SQLite connection; used by one thread at a time."""

    def __init__(self, raw: apsw.Connection, clock: Callable[[], int]) -> None:
        self.raw = raw
        self.clock = clock
        self.left_to_sweep = False
        self._cursor = raw.cursor()
        self._execute = self._cursor.execute
        # Not a method of its own: a statement that gives no rows is run by executing it, and
        # this is called for every row that is written.
        self.run: Callable[[str, Args], object] = self._cursor.execute

    def rows(self, sql: str, args: Args = ()) -> list[Any]:
        """Run a statement and give all its rows."""
        return self._execute(sql, args).fetchall()

    def row(self, sql: str, args: Args = ()) -> Any:
        """Run a statement and give its first row, or None."""
        # All rows are fetched: an unfinished statement would hold its snapshot open.
        rows = self._execute(sql, args).fetchall()
        return rows[0] if rows else None

    @contextmanager
    def stream(self, sql: str, args: Args) -> Iterator[Iterator[Any]]:
        """Run a statement and give its rows one by one, on a cursor of its own.

        For many rows of which each is soon forgotten: all at once would take fresh memory, which
        costs more than reading them does.
        """
        cursor = self.raw.cursor()
        try:
            yield cursor.execute(sql, args)
        finally:
            # Whatever stopped the reading: an unfinished statement would hold its snapshot open.
            cursor.close(True)

    def first(self, sql: str, args: Args) -> Any:
        """Give a statement's first row, or None, and leave it there: the next statement ends it.

        For the writer only, whose next statement follows at once.
        """
        return next(self._execute(sql, args), None)

    def value(self, sql: str, args: Args = ()) -> Any:
        """Run a statement and give the first column of its first row, or None."""
        rows = self._execute(sql, args).fetchall()
        return rows[0][0] if rows else None

    def run_many(self, sql: str, rows: Iterable[Args]) -> None:
        """Run a statement once for each row of arguments."""
        self._cursor.executemany(sql, rows)

    def insert_all(self, sql: str, values: str, rows: Sequence[Args]) -> None:
        """Insert rows, many of them by one statement, whose own cost they share."""
        whole = len(rows) - len(rows) % ROWS_AT_ONCE
        together = f"{sql} {', '.join([values] * ROWS_AT_ONCE)}"
        starts = range(0, whole, ROWS_AT_ONCE)
        chunks = [tuple(chain.from_iterable(rows[at : at + ROWS_AT_ONCE])) for at in starts]
        self.run_many(together, chunks)
        self.run_many(f"{sql} {values}", rows[whole:])

    def lineage(self, segment: int) -> list[Place]:
        """Read a segment's lineage."""
        found = self.row("SELECT lineage FROM segment WHERE number = ?", (segment,))
        if found is None:
            raise StoreCorruptError(f"segment {segment} is missing")
        return unpack_lineage(found[0])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let several statements read the same state."""
        if self.is_in_transaction():
            yield
            return
        try:
            self._execute("BEGIN")
            yield
        finally:
            # A failing disk ends the transaction by itself.
            if self.is_in_transaction():
                self._end_snapshot()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let several statements write together, or not at all."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            if self.is_in_transaction():
                self.raw.execute("ROLLBACK")
            raise

    def forget_snapshot(self) -> None:
        """End a snapshot that was left open."""
        if self.raw.in_transaction:
            self.raw.execute("ROLLBACK")

    def _end_snapshot(self) -> None:
        try:
            self._execute("COMMIT")
        except apsw.Error:
            # A cursor may tell once more that its last statement failed, and do this one, too.
            if self.is_in_transaction():
                self.raw.execute("ROLLBACK")

    def is_in_transaction(self) -> bool:
        """Tell whether a transaction is open."""
        return self.raw.in_transaction

    def close(self) -> None:
        """Close it; what was not committed is gone."""
        self.raw.close(True)


def open_writer(
    path: str, clock: Callable[[], int], patience_s: float, vfs: str | None
) -> Connection:
    """Open the connection that writes; nothing in the file is changed yet."""
    raw = connect(path, vfs=vfs)
    _settle_in(raw, patience_s)
    add_checksum_function(raw)
    return Connection(raw, clock)


def make_durable(tx: Connection, path: str, durability: Durability, patience_s: float) -> None:
    """Switch a connection to the log, and to the care that was asked for."""
    _use_wal(tx.raw, path, patience_s)
    tx.raw.pragma("synchronous", "FULL" if durability == "full" else "NORMAL")
    # Deleted content is overwritten in the file, and not only forgotten.
    tx.raw.pragma("secure_delete", "ON")
    # Asked for again: in a new file it was reckoned in pages of SQLite's own size, and a batch that
    # fits it would be written out page by page before its commit.
    tx.raw.pragma("cache_size", tx.raw.pragma("cache_size"))
    tx.raw.pragma("journal_size_limit", WAL_CAP_BYTES)
    tx.raw.wal_autocheckpoint(CHECKPOINT_PAGES)


def open_reader(
    path: str, clock: Callable[[], int], patience_s: float, vfs: str | None
) -> Connection:
    """Open a connection that only reads."""
    raw = connect(path, flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    _settle_in(raw, patience_s)
    return Connection(raw, clock)


def _settle_in(raw: apsw.Connection, patience_s: float) -> None:
    raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    raw.set_busy_handler(Patience(patience_s))
    raw.pragma("trusted_schema", "OFF")


def _use_wal(raw: apsw.Connection, path: str, patience_s: float) -> None:
    mode = _switch_to_wal(raw, patience_s)
    if mode != "wal":
        raise StoreError(
            f"{path}: asked for write-ahead logging and got {mode!r}: "
            "the file system does not support it, use a local disk"
        )


def _switch_to_wal(raw: apsw.Connection, patience_s: float) -> object:
    """Switch on the log; SQLite does not ask the busy handler when two processes do it at once."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return raw.pragma("journal_mode", "WAL")
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(POLL_S)


class Patience:
    """Waits for other processes by polling, until a deadline.

    SQLite's own handler backs off to long sleeps, and lets one process get most of the writes.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline = 0.0

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            self._deadline = now + self.seconds
        if now >= self._deadline:
            return False
        time.sleep(POLL_S)
        return True

"""One connection: its settings, and the few ways in which statements are run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal, TypeVar

import apsw

from ...errors import StoreBusyError, StoreCorruptError, StoreError
from ...rules.tree import Place
from ..relational.position import unpack_lineage
from .checksum import add_checksum_function
from .inheritance import connect

T = TypeVar("T")
Durability = Literal["full", "normal"]
Bindings = Sequence[Any]

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
        self.run: Callable[[str, Bindings], object] = self._cursor.execute

    def rows(self, sql: str, args: Bindings = ()) -> list[Any]:
        """Run a statement and return all its rows."""
        return self._execute(sql, args).fetchall()

    def row(self, sql: str, args: Bindings = ()) -> Any:
        """Run a statement and return its first row, or None."""
        # All rows are fetched: an unfinished statement would hold its snapshot open.
        rows = self._execute(sql, args).fetchall()
        return rows[0] if rows else None

    @contextmanager
    def stream(self, sql: str, args: Bindings) -> Iterator[Iterator[Any]]:
        """Run a statement and yield its rows one by one, on a cursor of its own.

        For many rows of which each is soon forgotten: all at once would take fresh memory, which
        costs more than reading them does.
        """
        cursor = self.raw.cursor()
        try:
            yield cursor.execute(sql, args)
        finally:
            # Whatever stopped the reading: an unfinished statement would hold its snapshot open.
            cursor.close(True)

    def first(self, sql: str, args: Bindings) -> Any:
        """Return a statement's first row, or None, and leave it there: the next statement ends it.

        For the writer only, whose next statement follows at once.
        """
        return next(self._execute(sql, args), None)

    def value(self, sql: str, args: Bindings = ()) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        rows = self._execute(sql, args).fetchall()
        return rows[0][0] if rows else None

    def run_many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run a statement once for each row of arguments."""
        self._cursor.executemany(sql, rows)

    def insert_all(self, sql: str, values: str, rows: Sequence[Bindings]) -> None:
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
        if self.raw.in_transaction:
            yield
            return
        try:
            self._execute("BEGIN")
            yield
        finally:
            try:
                self._execute("COMMIT")
            except apsw.Error:
                # A failing disk has ended it by itself; or the cursor told once more that its last
                # statement failed, and may have done this one, too.
                self.roll_back()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Let several statements write together, or not at all."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield
            self._execute("COMMIT")
        except BaseException:
            self.roll_back()
            raise

    def roll_back(self) -> None:
        """End a transaction or snapshot, if one is open."""
        if self.raw.in_transaction:
            # Not by the cursor of a failed statement, which may tell of its failure once more.
            self.raw.execute("ROLLBACK")

    @contextmanager
    def closed_on_failure(self) -> Iterator[None]:
        """Close it if what is done first with it fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close it; what was not committed is gone."""
        self.raw.close(True)


def open_writer(
    path: str, clock: Callable[[], int], patience_s: float, vfs: str | None
) -> Connection:
    """Open the connection that writes; nothing in the file is changed yet."""
    tx = _open(path, clock, patience_s, vfs, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    add_checksum_function(tx.raw)
    return tx


def open_reader(
    path: str, clock: Callable[[], int], patience_s: float, vfs: str | None
) -> Connection:
    """Open a connection that only reads."""
    return _open(path, clock, patience_s, vfs, apsw.SQLITE_OPEN_READONLY)


def _open(
    path: str, clock: Callable[[], int], patience_s: float, vfs: str | None, flags: int
) -> Connection:
    raw = connect(path, flags=flags, vfs=vfs)
    raw.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    raw.set_busy_handler(Patience(patience_s))
    raw.pragma("trusted_schema", "OFF")
    return Connection(raw, clock)


def make_durable(tx: Connection, path: str, durability: Durability, patience_s: float) -> None:
    """Switch a connection to the log, and to the care that was asked for."""
    # SQLite does not ask the busy handler when two processes switch it on at once.
    mode = patiently(lambda: tx.raw.pragma("journal_mode", "WAL"), patience_s)
    if mode != "wal":
        raise StoreError(
            f"{path}: asked for write-ahead logging and got {mode!r}: "
            "the file system does not support it, use a local disk"
        )
    # Not as it was given: any other word would switch it off, or mean something else.
    tx.raw.pragma("synchronous", "FULL" if durability == "full" else "NORMAL")
    # Deleted content is overwritten in the file, and not only forgotten.
    tx.raw.pragma("secure_delete", "ON")
    # Asked for again: in a new file it was reckoned in pages of SQLite's own size, and a batch that
    # fits it would be written out page by page before its commit.
    tx.raw.pragma("cache_size", tx.raw.pragma("cache_size"))
    tx.raw.pragma("journal_size_limit", WAL_CAP_BYTES)
    tx.raw.wal_autocheckpoint(CHECKPOINT_PAGES)


def patiently(call: Callable[[], T], patience_s: float) -> T:
    """Call until nobody is in the way; for what SQLite does not ask its busy handler about."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return call()
        except (apsw.BusyError, StoreBusyError):
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

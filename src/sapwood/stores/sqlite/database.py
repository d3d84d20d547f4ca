"""A database file: its writer, its readers, and the work that deletions leave behind."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from ...errors import (
    ClosedError,
    ReadOnlyError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
    UsageError,
)
from ...store._sync.admin import Progress
from ..base._sync.runner import Runner
from .backup import copy_database
from .connection import (
    PAGE_BYTES,
    Connection,
    Durability,
    make_durable,
    open_reader,
    open_writer,
    patiently,
)
from .documents import ExpiredDocuments
from .failure import translated
from .feed import forget_erasures, latest_erasure, trim_feed
from .index.file import index_path
from .index.indexer import Indexer
from .inheritance import disown_at_fork
from .migrate import migrate, refuse_foreign
from .readers import Readers
from .standing import renew_stale
from .unit import SqliteUnit
from .writer import Outcome, Work, Writer

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_EVERY_S = 0.05
PATIENCE_S = 30.0
MOST_READERS = 8


class Database(Runner):
    """An open database file, for any number of threads of the process that opened it."""

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Callable[[], int],
        durability: Durability = "full",
        patience_s: float = PATIENCE_S,
        vfs: str | None = None,
    ) -> None:
        if "\0" in str(path):
            raise UsageError("a file's name cannot have a NUL in it: choose another", path="path")
        # Readers and the index are opened later, when the process may be in another folder. SQLite
        # keeps the log beside the file itself and not beside a link to it: so do we with the index.
        self.path = os.path.realpath(path)
        self._clock = clock
        self._patience_s = patience_s
        self._vfs = vfs
        self._refusal: str | None = None
        self._sweeper: threading.Thread | None = None
        self._is_sweeping_wanted = False
        self._sweeper_guard = threading.Lock()
        self._stop_sweeping = threading.Event()
        tx, has_work_left = self._open_writer(durability)
        self._is_read_only = tx.raw.readonly("main")
        self._index_path = index_path(self.path)
        self._indexer = Indexer(self._index_path, self._open_reader, clock, patience_s)
        self._opened = OpenedFile(self.path)
        unit = SqliteUnit(tx, self._index_path)
        self._writer = Writer(unit, self.path, patience_s, self._opened.look)
        self._readers = Readers(self._open_reading_unit, self.path, MOST_READERS)
        disown_at_fork(self)
        if has_work_left and not self._is_read_only:
            self.sweep_soon()

    def _open_writer(self, durability: Durability) -> tuple[Connection, bool]:
        """Open and migrate; return also whether a deletion left work to be done."""
        folder = Path(self.path).parent
        if not folder.is_dir():
            raise StoreUnavailableError(f"there is no folder {str(folder)!r}: create it first")
        with translated(self.path):
            tx = open_writer(self.path, self._clock, self._patience_s, self._vfs)
            with tx.closed_on_failure():
                refuse_foreign(tx, self.path)
                if not tx.raw.readonly("main"):
                    tx.raw.pragma("page_size", PAGE_BYTES)
                    make_durable(tx, self.path, durability, self._patience_s)
                migrate(tx, self.path)
                return tx, bool(tx.value("SELECT EXISTS (SELECT 1 FROM sweep)"))

    def _open_reader(self) -> Connection:
        return open_reader(self.path, self._clock, self._patience_s, self._vfs)

    def _open_reading_unit(self) -> SqliteUnit:
        on_lag = None if self._is_read_only else self._indexer.wake
        tx = self._open_reader()
        with tx.closed_on_failure():
            self._opened.refuse_if_gone()
        return SqliteUnit(tx, self._index_path, on_lag)

    def read(self, work: Callable[[SqliteUnit], T]) -> T:
        self.refuse_if_closed()
        return self._readers.read(work)

    def glance(self, work: Callable[[SqliteUnit], T]) -> T:
        if self._refusal is not None:
            raise ClosedError(self._refusal)
        return self._readers.glance(work)

    def write(self, work: Callable[[SqliteUnit], T]) -> T:
        if self._refusal is not None or self._is_read_only:
            self._refuse_writing()
        result = self._writer.write(work)
        self._indexer.wake()
        if self._writer.unit.tx.left_to_sweep:
            self.sweep_soon()
        return result

    def write_group(self, works: Sequence[Work]) -> list[Outcome]:
        """Run several pieces of work and commit them together."""
        self._refuse_writing()
        outcomes = self._writer.write_group(works)
        self._indexer.wake()
        if self._writer.unit.tx.left_to_sweep:
            self.sweep_soon()
        return outcomes

    def _refuse_writing(self) -> None:
        self.refuse_if_closed()
        if self._is_read_only:
            raise ReadOnlyError(
                f"{self.path} cannot be written: check the permissions of the file and its folder"
            )

    def migrate(self) -> int:
        # Opening has migrated it.
        return self.read(lambda unit: unit.admin.schema_version())

    def repair(self) -> None:
        """Rebuild what is derived, the search index too."""
        self.write(lambda unit: unit.admin.repair())
        self._indexer.rebuild()

    def backup(self, path: Path, replace: bool, progress: Progress | None) -> None:
        self.refuse_if_closed()
        with translated(str(path)), closing(self._open_reader()) as source:
            copy_database(source, path, replace, progress)

    def sweep_soon(self) -> None:
        """Let a thread remove, bit by bit, what deletions left."""
        with self._sweeper_guard:
            self._writer.unit.tx.left_to_sweep = False
            self._is_sweeping_wanted = True
            if self._sweeper is not None:
                return
            sweeper = threading.Thread(
                target=self._sweep_politely, name="sapwood-sweeper", daemon=True
            )
            try:
                sweeper.start()
            except RuntimeError:
                # What was deleted is deleted: the rest is done when the store is opened again.
                logger.warning("%s cannot be swept: there is no thread to be had", self.path)
                return
            self._sweeper = sweeper

    def _sweep_politely(self) -> None:
        """Sweep with pauses as long as the work, so that others get at least every second turn."""
        while self._is_sweeping_needed():
            more = True
            # A store that fails or is closed goes on sweeping when it is opened the next time.
            with contextlib.suppress(StoreError):
                while more and not self._stop_sweeping.is_set():
                    begun = time.perf_counter()
                    more = self._writer.write(lambda unit: unit.sweep.sweep_chunk())
                    self._indexer.wake()
                    self._stop_sweeping.wait(time.perf_counter() - begun)

    def _is_sweeping_needed(self) -> bool:
        """Whether somebody deleted something since the last round; if not, the thread ends."""
        with self._sweeper_guard:
            wanted = self._is_sweeping_wanted and not self._stop_sweeping.is_set()
            self._is_sweeping_wanted = False
            if not wanted:
                self._sweeper = None
            return wanted

    def finish_deletions(self) -> None:
        """Finish sweeping, renew sums, trim what is old, and leave no erased bytes in the files."""
        self._refuse_writing()
        expired = ExpiredDocuments()
        chunks: Sequence[Callable[[SqliteUnit], bool]] = (
            lambda unit: unit.sweep.sweep_chunk(),
            lambda unit: renew_stale(unit.tx),
            lambda unit: expired.drop_some(unit.tx),
        )
        for chunk in chunks:
            while self._writer.write(chunk):
                continue
        failure = self._fill_index()
        self._writer.write(lambda unit: trim_feed(unit.tx))
        erased = self._writer.write(lambda unit: latest_erasure(unit.tx))
        if erased is not None:
            self._writer.rewrite_file()
            self._writer.write(lambda unit: forget_erasures(unit.tx, erased))
        try:
            # In short tries: writers get in between, however long a reader reads.
            patiently(self._writer.truncate_log, self._patience_s)
        except StoreBusyError:
            raise StoreBusyError(
                f"{self.path}: a reader kept the log in use for too long: "
                "call finish_deletions() again later"
            ) from None
        if failure is not None:
            raise failure
        self._indexer.forget()

    def _fill_index(self) -> StoreError | None:
        """Bring the index up to date; what keeps it from that is told after all else is done."""
        try:
            self._indexer.catch_up()
        except StoreError as error:
            return error
        return None

    def close(self) -> None:
        """Close all connections; closing again does nothing."""
        if self._refusal is not None:
            return
        self._refusal = f"{self.path}: the store is closed"
        if self._writer.is_within():
            # By a signal's handler: the call that it interrupted has to end first.
            self._writer.afterwards = self._close
        else:
            self._close()

    def _close(self) -> None:
        self._stop_sweeping.set()
        with self._sweeper_guard:
            sweeper = self._sweeper
        if sweeper is not None:
            sweeper.join()
        self._readers.close()
        try:
            self._indexer.close()
        finally:
            self._writer.close()

    def is_closed(self) -> bool:
        """Whether it was closed, or opened before a fork."""
        return self._refusal is not None

    def refuse_if_closed(self) -> None:
        """Raise if it was closed, or opened before a fork."""
        if self._refusal is not None:
            raise ClosedError(self._refusal)

    def writing(self) -> threading.RLock:
        """Return the lock that whoever writes holds."""
        return self._writer.lock

    def disown(self) -> None:
        """Refuse all further work: this process is a fork of the one that opened the file."""
        self._refusal = (
            f"{self.path} was opened before this process was forked: "
            "SQLite cannot be carried over, open it again in the child"
        )


class OpenedFile:
    """The file behind a path as it was when it was opened."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: int | None = None
        self._opened = self._now()
        self._next_look = 0.0

    def look(self) -> None:
        """Refuse to go on with a file that is gone; called before every commit, so it is quick."""
        now = time.monotonic()
        if now >= self._next_look:
            self.refuse_if_gone()
            self._next_look = now + LOOK_EVERY_S

    def refuse_if_gone(self) -> None:
        """Raise when the path leads to another file, or to none."""
        if self._now() != self._opened:
            raise StoreError(
                f"{self._path} was deleted or replaced while it was open: close the store and "
                "open it again; what was stored before is in the old file only"
            )

    def _now(self) -> int | None:
        try:
            found = os.stat(self._path)  # noqa: PTH116  a path object costs more than the call
        except FileNotFoundError:
            return None
        except OSError:
            return self._opened  # who may not look cannot tell
        # As SQLite does it itself, where it keeps no log.
        return found.st_ino

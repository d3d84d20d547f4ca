"""The one connection that writes, and the commits that many writers share.

A thread that finds the writer free writes at once. Threads that have to wait leave their work with
a writer thread, which commits what has gathered together: one sync to disk serves them all. Each
piece of work is in a savepoint of its own, so that one that fails takes nobody with it, and nobody
is told anything before the commit.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, TypeVar

import apsw

from ...errors import ClosedError, SapwoodError, UsageError
from . import connection
from .connection import Patience
from .failure import DRIVER_ERRORS, translate, translated
from .unit import SqliteUnit

logger = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[SqliteUnit], Any]

MOST_IN_A_GROUP = 512
COMMITS_BETWEEN_LOOKS = 16
FIRM_PATIENCE_S = 0.02
FIRM_TRIES = 4


class Outcome:
    """What became of a piece of work: its result or its error."""

    __slots__ = ("error", "result")

    def __init__(self, result: Any = None, error: BaseException | None = None) -> None:
        self.result = result
        self.error = error


class _Job(Outcome):
    """Work that waits for the writer thread."""

    __slots__ = ("done", "work")

    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work
        self.done = threading.Lock()
        self.done.acquire()


class Writer:
    """Commits units of work on one connection."""

    def __init__(
        self, unit: SqliteUnit, where: str, patience_s: float, look: Callable[[], None]
    ) -> None:
        self.unit = unit
        tx = unit.tx
        self._log = LogKeeper(tx.raw, where, patience_s)
        self._tx = tx
        self._where = where
        self._look = look
        self._commits = 0
        self.lock = threading.RLock()  # not to be taken twice: it knows whose it is
        self.afterwards: Callable[[], None] | None = None
        """What a caller who is within does as soon as he is out."""
        self._jobs: deque[_Job] = deque()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def write(self, work: Callable[[SqliteUnit], T]) -> T:
        """Run and commit a piece of work: at once if the writer is free, else with others."""
        self._refuse_within()
        try:
            if not self._jobs and self.lock.acquire(False):
                result = self._commit_one(work)
                self._leave()
                return result
        except BaseException:
            # An interrupt may come between getting the lock and knowing that: the lock is asked.
            with contextlib.suppress(RuntimeError):
                self._leave()
            raise
        job = _Job(work)
        self._jobs.append(job)
        self._rouse()
        job.done.acquire()
        if job.error is not None:
            raise job.error
        result = job.result
        return result

    def is_within(self) -> bool:
        """Whether the caller is inside the writer already, as a signal's handler may be."""
        # As a Condition asks it; the lock has no public way.
        owned: bool = self.lock._is_owned()  # type: ignore[attr-defined]
        return owned

    def _refuse_within(self) -> None:
        if self.is_within():
            raise UsageError(
                f"{self._where} is being written to by the call that this one interrupted: "
                "let a signal's handler only note what is to be done, and do it after that call"
            )

    def _leave(self) -> None:
        self.lock.release()
        self._finish()

    def _finish(self) -> None:
        if self.afterwards is not None and not self.is_within():
            call, self.afterwards = self.afterwards, None
            call()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._refuse_within()
        try:
            with self.lock:
                yield
        finally:
            self._finish()

    def write_group(self, works: Sequence[Work]) -> list[Outcome]:
        """Run and commit several pieces of work together."""
        outcomes = [Outcome() for _ in works]
        with self._alone():
            self._commit_group(works, outcomes)
        return outcomes

    def _commit_one(self, work: Callable[[SqliteUnit], T]) -> T:
        tx = self._tx
        try:
            tx.run("BEGIN IMMEDIATE", ())
            result = work(self.unit)
            self._look()
            tx.run("COMMIT", ())
        except BaseException as error:
            self._roll_back()
            if isinstance(error, DRIVER_ERRORS):
                raise translate(error, self._where) from error
            raise
        self._count_commit()
        return result

    def _commit_group(self, works: Sequence[Work], outcomes: Sequence[Outcome]) -> None:
        try:
            self._refuse_if_closed()
            self._tx.run("BEGIN IMMEDIATE", ())
            for work, outcome in zip(works, outcomes, strict=True):
                self._run_in_savepoint(work, outcome)
            self._look()
            self._tx.run("COMMIT", ())
        except BaseException as error:  # noqa: BLE001  told to every caller
            # Nothing of the group is stored: every caller is told, also those whose part went well.
            self._roll_back()
            for outcome in outcomes:
                if outcome.error is None:
                    outcome.error = self._told(error)
        else:
            self._count_commit()

    def _count_commit(self) -> None:
        self._commits += 1
        if self._commits % COMMITS_BETWEEN_LOOKS == 0:
            self._log.look()

    def _told(self, error: BaseException) -> BaseException:
        """Return an error object for each caller, since a traceback is written into it."""
        if isinstance(error, DRIVER_ERRORS):
            ours = translate(error, self._where)
            ours.__cause__ = error
            return ours
        return copy(error) if isinstance(error, SapwoodError) else error

    def _run_in_savepoint(self, work: Work, outcome: Outcome) -> None:
        tx = self._tx
        tx.run("SAVEPOINT work", ())
        try:
            outcome.result = work(self.unit)
        except BaseException as error:
            if not tx.raw.in_transaction:
                raise
            outcome.error = self._told(error)
            tx.raw.execute("ROLLBACK TO work")
        tx.run("RELEASE work", ())

    def _roll_back(self) -> None:
        if self._is_closed:
            return
        try:
            self._tx.roll_back()
        except apsw.Error:
            # The caller is told why the work failed, which is what it can act on.
            logger.warning("%s: rolling back failed", self._where, exc_info=True)

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ClosedError(f"{self._where}: the store is closed")

    def _rouse(self) -> None:
        if self._thread is None:
            with self.lock:
                if self._thread is None and not self._is_closed:
                    self._start()
        if not self._wake.is_set():
            self._wake.set()
        if self._is_closed:
            self._serve_once()

    def _start(self) -> None:
        thread = threading.Thread(target=self._serve, name="sapwood-writer", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # Without a thread, whoever comes serves all that wait.
            while self._jobs:
                self._serve_once()
        else:
            self._thread = thread

    def _serve(self) -> None:
        while not self._is_closed:
            self._wake.wait()
            self._wake.clear()
            while self._jobs:
                self._serve_once()

    def _serve_once(self) -> None:
        with self.lock:
            group = [self._jobs.popleft() for _ in range(min(len(self._jobs), MOST_IN_A_GROUP))]
            self._commit_group([job.work for job in group], group)
        for job in group:
            job.done.release()

    def truncate_log(self) -> None:
        """Try for a moment to copy the whole log back and empty it."""
        self._run_alone(lambda _: self._log.checkpoint_firmly())

    def rewrite_file(self) -> None:
        """Copy what is stored into fresh pages; other writers wait meanwhile."""
        self._run_alone(lambda raw: raw.execute("VACUUM").fetchall())

    def _run_alone(self, work: Callable[[apsw.Connection], object]) -> None:
        """Run something that is not part of a transaction."""
        with self._alone():
            self._refuse_if_closed()
            with translated(self._where):
                work(self._tx.raw)

    def close(self) -> None:
        """Close the connection; work that comes later is refused."""
        with self.lock:
            if self._is_closed:
                return
            self._is_closed = True
            self.unit.close()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        while self._jobs:
            self._serve_once()


class LogKeeper:
    """Looks at the log now and then, after a commit."""

    def __init__(self, raw: apsw.Connection, path: str, patience_s: float) -> None:
        self._raw = raw
        self._log = Path(f"{path}-wal")
        self._patience_s = patience_s
        self._next_try = 0

    def look(self) -> None:
        """Look at the log, and cut it if it has grown past its cap."""
        try:
            size = self._log.stat().st_size
            if size > max(connection.WAL_CAP_BYTES, self._next_try):
                # If somebody keeps on reading, the next try waits until the log has grown again.
                self._next_try = size + connection.WAL_CAP_BYTES // 8
                self.checkpoint_firmly()
                self._next_try = 0
        except (OSError, apsw.Error):
            # The commits stand whether or not they could be copied back: a later look tries again.
            logger.debug("checkpoint put off", exc_info=True)

    def checkpoint_firmly(self) -> None:
        """Copy the whole log back and empty it, waiting for readers but not for long."""
        self._raw.set_busy_handler(Patience(FIRM_PATIENCE_S))
        try:
            # Readers that leave no gap can keep one call waiting for good; another call gets past.
            for _ in range(FIRM_TRIES - 1):
                with suppress(apsw.BusyError):
                    self._raw.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_TRUNCATE)
                    return
            self._raw.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            self._raw.set_busy_handler(Patience(self._patience_s))

"""The thread that fills the index, out of the commits' way; how one is checked and made anew."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from math import inf
from pathlib import Path

import apsw

from ....model import Problem
from ....rules.wording import counted
from ..connection import POLL_S, Connection, open_reader, patiently
from ..failure import translated
from ..feed import KIND_COVER, KIND_UNCOVER
from ..inheritance import INDEXING
from .file import (
    FORMAT,
    index_path,
    newest_mark,
    open_index_reader,
    open_index_writer,
    read_place,
    read_state,
)
from .follower import Follower, Owners

logger = logging.getLogger(__name__)

REST_S = 0.1
"""How long changes gather before they are indexed."""
RETRY_S = 1.0
SMALL_BATCH = 50
"""How many messages are indexed at a time while others write."""
PAUSES = 3
"""How many times as long as a batch the indexer rests after it while others write."""
MOST_LEFT = 250
"""How many changes may be left for the next to come when the store is closed."""
GRACE_S = 1.0
CHECK_PATIENCE_S = 1.0
NO_LOCK = nullcontext()

_INDEX_FILES = ("", "-wal", "-shm")
_ENTRY_NUMBERS = "SELECT number FROM entry ORDER BY 1"
_INDEXED_NUMBERS = "SELECT id FROM words_docsize ORDER BY 1"
_LIVE_MESSAGES = "SELECT pos, home FROM message WHERE body IS NOT NULL"


class Indexer:
    """Keeps an index up to its database."""

    def __init__(
        self,
        path: str,
        open_main: Callable[[], Connection],
        clock: Callable[[], int],
        patience_s: float,
    ) -> None:
        self._path = path
        self._open_main = open_main
        self._clock = clock
        self._patience_s = patience_s
        self._is_awake = False
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def wake(self) -> None:
        """Let the index follow soon. Called after every commit, so it is quick when awake."""
        if self._is_awake:
            return
        self._is_awake = True
        if self._thread is None:
            self._start()
        self._wake.set()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                thread = threading.Thread(target=self._serve, name="sapwood-indexer", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    # The write that it would follow is committed: the next one tries again.
                    logger.warning("%s is left behind: there is no thread to be had", self._path)
                    self._is_awake = False
                    return
                self._thread = thread

    def _serve(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            if self._stop.wait(REST_S):
                return
            try:
                self._follow_politely()
            except apsw.BusyError:
                # Another process is at it.
                self._stop.wait(REST_S)
                self._wake.set()
            except Exception:  # whatever it is, the next change tries again
                logger.warning("%s cannot be brought up to date", self._path, exc_info=True)
                self._is_awake = False
                self._stop.wait(RETRY_S)

    def _follow_politely(self) -> None:
        """Index in small bits with rests between them while others write, else at full speed."""
        with self._follower(POLL_S, INDEXING) as follower:
            more = True
            while more and not self._stop.is_set():
                was_busy, self._is_awake = self._is_awake, False
                begun = time.perf_counter()
                more = follower.step(SMALL_BATCH) if was_busy else follower.step()
                if self._is_awake:
                    more = True
                    self._stop.wait(PAUSES * (time.perf_counter() - begun))

    @contextmanager
    def _follower(
        self, patience_s: float, lock: AbstractContextManager[object] = NO_LOCK
    ) -> Iterator[Follower]:
        """Open the index and its database for as long as there is work, both under a lock."""
        with lock:
            index = open_index_writer(self._path, self._clock, patience_s)
            with index.closed_on_failure():
                main = self._open_main()
        try:
            yield Follower(index, main)
        finally:
            with lock:
                main.close()
                # The last to close copies the log back, and lets no other thread of Python run
                # meanwhile: done before, which does, there is nothing left for it to do.
                with suppress(apsw.Error):
                    index.raw.wal_checkpoint()
                index.close()

    def catch_up(self) -> None:
        """Index all that is committed, in this thread; wait for another process that is at it."""
        with translated(self._path):
            self._follow_for(inf, self._patience_s)

    def _follow_for(self, seconds: float, patience_s: float) -> None:
        deadline = time.monotonic() + seconds
        with self._follower(patience_s) as follower:
            while follower.step() and time.monotonic() < deadline:
                continue

    def rebuild(self) -> None:
        """Make the index anew from what is stored."""
        with translated(self._path):
            reset_index(self._path, self._clock, self._patience_s)
        self.catch_up()

    def forget(self) -> None:
        """Leave nothing of removed entries in the index's files."""
        with (
            translated(self._path),
            closing(open_index_writer(self._path, self._clock, self._patience_s)) as index,
        ):
            # Kept in the index: what was removed may be an edited text or an undone summary.
            removed = read_state(index).get("removed")
            if removed is None:
                return
            index.run("INSERT INTO words (words) VALUES ('optimize')", ())
            index.raw.execute("VACUUM").fetchall()
            # SQLite asks no busy handler while another process copies the log back.
            patiently(
                lambda: index.raw.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_TRUNCATE),
                self._patience_s,
            )
            index.run("DELETE FROM state WHERE name = 'removed' AND value = ?", (removed,))

    def close(self) -> None:
        """End the thread; when many changes are left, index some of them first."""
        self._stop.set()
        self._wake.set()
        with self._starting:
            thread = self._thread
        if thread is None:
            return
        thread.join()
        try:
            if self._is_awake and self._lag() > MOST_LEFT:
                self._follow_for(GRACE_S, POLL_S)
            elif Path(f"{self._path}-wal").exists():
                # Whoever only read it could not copy the log back and remove it.
                open_index_writer(self._path, self._clock, POLL_S).close()
        except apsw.Error:
            logger.debug("%s is left behind", self._path, exc_info=True)

    def _lag(self) -> int:
        """Return how many changes the index is behind; for a few, none is made."""
        with closing(self._open_main()) as main:
            index = open_index_reader(self._path, self._clock, POLL_S)
            if index is not None:
                with closing(index):
                    if place := read_place(index, main):
                        return place.lag
            return newest_mark(main).seq


def index_problems(main: Connection) -> list[Problem]:
    """Look for damage in the index, and for entries too many or too few; change nothing.

    That there is none, or that it is behind, is no problem: it will be made, or follow.
    """
    path = index_path(main.raw.filename)
    try:
        index = open_index_reader(path, main.clock, CHECK_PATIENCE_S)
        if index is None:
            return []
        # Read first, so that it can only be behind the database.
        with closing(index), index.snapshot():
            damage = [what for (what,) in index.rows("PRAGMA integrity_check") if what != "ok"]
            fresh = open_reader(main.raw.filename, main.clock, CHECK_PATIENCE_S, None)
            with closing(fresh), fresh.snapshot():
                faults = damage or list(_index_faults(index, fresh))
            return [Problem(kind="index", where=path, what=what) for what in faults]
    except apsw.ReadOnlyError:
        # Whoever was making it was stopped: the next to write to it takes that back.
        return []
    except apsw.Error as error:
        return [Problem(kind="index", where=path, what=f"it cannot be read: {error}")]


def _index_faults(index: Connection, main: Connection) -> Iterator[str]:
    if index.value("PRAGMA user_version") != FORMAT or (place := read_place(index, main)) is None:
        # It is another version's or another database's, or not complete: nothing in it is used.
        return
    fresh = _touched_since(main, place.mark.seq)
    entries = {pos for (pos,) in index.rows("SELECT pos FROM entry")}
    summaries = {-number for (number,) in main.rows("SELECT number FROM overlay")}
    messages = main.rows(_LIVE_MESSAGES)
    live = {pos for pos, _ in messages}
    owners = Owners(main)
    seen = {pos for pos, home in messages if owners.of_home(home) is not None}
    if missing := seen - entries - fresh:
        yield f"it lacks {counted(len(missing), 'message')}"
    if left := {pos for pos in entries - live - fresh if pos > 0}:
        yield f"it still has {counted(len(left), 'message')} of those that are gone"
    if ({pos for pos in entries if pos < 0} ^ summaries) - fresh:
        yield "it has not the summaries that there are"
    numbers, indexed = (index.rows(sql) for sql in (_ENTRY_NUMBERS, _INDEXED_NUMBERS))
    if numbers != indexed:
        yield f"it has {counted(len(numbers), 'entry', 'entries')}, and words of {len(indexed)}"


def _touched_since(main: Connection, seq: int) -> set[int]:
    """Return where something was changed after a place in the feed: messages and summaries."""
    changes = main.rows("SELECT first, last, kind FROM change WHERE seq > ? AND first > 0", (seq,))
    return {
        -at if kind in (KIND_COVER, KIND_UNCOVER) else at
        for first, last, kind in changes
        for at in range(first, last + 1)
    }


def reset_index(path: str, clock: Callable[[], int], patience_s: float) -> None:
    """Empty the index; a damaged one is removed."""
    try:
        with closing(open_index_writer(path, clock, patience_s)) as index:
            if index.value("PRAGMA integrity_check") == "ok":
                # The next to open it makes its tables anew.
                index.run("PRAGMA user_version = 0", ())
                return
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.IOError):
        # There is nothing in it that could not be read from the database.
        logger.info("%s is damaged and is made anew", path, exc_info=True)
    for suffix in _INDEX_FILES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)

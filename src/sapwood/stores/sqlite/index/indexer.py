"""The thread that fills the index, after the commits and out of their way."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import apsw

from ..connection import POLL_S, Connection
from ..failure import translate
from ..inheritance import INDEXING
from .checking import reset_index
from .file import newest_mark, open_index_reader, open_index_writer, read_mark, read_state
from .following import Follower

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
                self._try_again_later()
            except Exception:  # whatever it is, the next change tries again
                logger.warning("%s cannot be brought up to date", self._path, exc_info=True)
                self._is_awake = False
                self._stop.wait(RETRY_S)

    def _try_again_later(self) -> None:
        self._stop.wait(REST_S)
        self._wake.set()

    def _follow_politely(self) -> None:
        """Index in small bits with rests between them while others write, else at full speed."""
        with INDEXING:
            opened = _Open(self._path, self._open_main, self._clock, POLL_S)
        try:
            self._step_politely(Follower(opened.index, opened.main))
        finally:
            with INDEXING:
                opened.close()

    def _step_politely(self, follower: Follower) -> None:
        more = True
        while more and not self._stop.is_set():
            was_busy, self._is_awake = self._is_awake, False
            begun = time.perf_counter()
            with INDEXING:
                more = follower.step(SMALL_BATCH) if was_busy else follower.step()
            if self._is_awake:
                more = True
                self._stop.wait(PAUSES * (time.perf_counter() - begun))

    def catch_up(self) -> None:
        """Index all that is committed, in this thread; wait for another process that is at it."""
        try:
            self._catch_up()
        except apsw.Error as error:
            raise translate(error, self._path) from error

    def _catch_up(self) -> None:
        with _Open(self._path, self._open_main, self._clock, self._patience_s) as follower:
            while self._step(follower):
                continue

    def _step(self, follower: Follower) -> bool:
        with INDEXING:
            return follower.step()

    def rebuild(self) -> None:
        """Make the index anew from what is stored."""
        try:
            reset_index(self._path, self._clock, self._patience_s)
            self._catch_up()
        except apsw.Error as error:
            raise translate(error, self._path) from error

    def forget(self) -> None:
        """Leave nothing of removed entries in the index's files."""
        try:
            index = open_index_writer(self._path, self._clock, self._patience_s)
            with closing(index):
                # Kept in the index: what was removed may be an edited text or an undone summary.
                removed = read_state(index).get("removed")
                if removed is None:
                    return
                index.run("INSERT INTO words (words) VALUES ('optimize')", ())
                index.raw.execute("VACUUM").fetchall()
                self._truncate_log(index)
                index.run("DELETE FROM state WHERE name = 'removed' AND value = ?", (removed,))
        except apsw.Error as error:
            raise translate(error, self._path) from error

    def _truncate_log(self, index: Connection) -> None:
        """Empty the log; SQLite asks no busy handler while another process copies it back."""
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                index.raw.wal_checkpoint("main", apsw.SQLITE_CHECKPOINT_TRUNCATE)
                return
            except apsw.BusyError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(POLL_S)

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
                self._follow_for(GRACE_S)
            elif Path(f"{self._path}-wal").exists():
                # Whoever only read it could not copy the log back and remove it.
                open_index_writer(self._path, self._clock, POLL_S).close()
        except apsw.Error:
            logger.debug("%s is left behind", self._path, exc_info=True)

    def _lag(self) -> int:
        """Tell how many changes the index is behind; for a few, none is made."""
        main = self._open_main()
        try:
            index = open_index_reader(self._path, self._clock, POLL_S)
            if index is None:
                return newest_mark(main).seq
            try:
                mark = read_mark(index, main)
                return newest_mark(main).seq - (mark.seq if mark else 0)
            finally:
                index.close()
        finally:
            main.close()

    def _follow_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with _Open(self._path, self._open_main, self._clock, POLL_S) as follower:
            while self._step(follower) and time.monotonic() < deadline:
                continue


class _Open:
    """An index and its database, open for as long as there is work."""

    def __init__(
        self,
        path: str,
        open_main: Callable[[], Connection],
        clock: Callable[[], int],
        patience_s: float,
    ) -> None:
        self.index = open_index_writer(path, clock, patience_s)
        try:
            self.main = open_main()
        except BaseException:
            self.index.close()
            raise

    def __enter__(self) -> Follower:
        return Follower(self.index, self.main)

    def __exit__(self, *details: object) -> None:
        self.close()

    def close(self) -> None:
        """Close both."""
        self.main.close()
        # The last to close copies the log back, and lets no other thread of Python run meanwhile:
        # done before, which does, there is nothing left for it to do.
        with suppress(apsw.Error):
            self.index.raw.wal_checkpoint()
        self.index.close()

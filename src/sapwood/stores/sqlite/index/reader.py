"""The index as searches see it: open while it is there and whole, and never in their way."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from ..connection import POLL_S, Connection
from ..failure import is_damage
from .file import FORMAT, IndexFailedError, open_index_reader, refuse_if_cut
from .question import tally

logger = logging.getLogger(__name__)


class IndexReader:
    """A connection that reads the index, used by one thread at a time."""

    def __init__(self, path: str, clock: Callable[[], int]) -> None:
        self._path = path
        self._clock = clock
        self._index: Connection | None = None
        self._file: tuple[int, int] | None = None
        self._is_ours = False

    @contextmanager
    def open(self) -> Iterator[Connection | None]:
        """Yield the index on one snapshot; None when it is not there or cannot be used.

        Raises IndexFailedError at the end when what was read may be wrong.
        """
        try:
            index = self._current()
        except (apsw.Error, OSError):
            self._give_up()
            index = None
        if index is None:
            yield None
            return
        index.roll_back()
        with index.snapshot():
            yield index
            try:
                refuse_if_cut(index)
            except apsw.Error as error:
                # Opened again by the next: what was read as zeros is remembered as that.
                self._file = None
                raise IndexFailedError(str(error)) from error

    def _current(self) -> Connection | None:
        """Open the file that is there now: a repair may have put another in its place."""
        try:
            found = Path(self._path).stat()
        except FileNotFoundError:
            self.close()
            return None
        if self._file != (found.st_dev, found.st_ino):
            self.close()
            self._file = (found.st_dev, found.st_ino)
            self._index = open_index_reader(self._path, self._clock, POLL_S)
            if self._index is not None:
                self._index.raw.register_fts5_function("tally", tally)
        if self._index is not None and not self._is_ours:
            # Asked again until it is: it is made anew in the same file.
            self._is_ours = self._index.value("PRAGMA user_version") == FORMAT
        return self._index if self._is_ours else None

    def _give_up(self) -> None:
        # What passes by itself, as its making by another thread does, is nobody's concern.
        level = logging.WARNING if is_damage(sys.exc_info()[1]) else logging.DEBUG
        logger.log(level, "%s cannot be used: searching without it", self._path)
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._index is not None:
            self._index.close()
        self._index = self._file = None
        self._is_ours = False

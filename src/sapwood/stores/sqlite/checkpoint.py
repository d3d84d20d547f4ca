"""Keeping the write-ahead log small.

SQLite copies it back politely as it goes, which never finishes while readers and writers
come and go without a gap. When the log has grown past its cap, a firm checkpoint waits for them,
shortly, and not at every commit.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

import apsw

from . import connection
from .connection import Patience

logger = logging.getLogger(__name__)

COMMITS_BETWEEN_LOOKS = 16
FIRM_PATIENCE_S = 0.02
FIRM_TRIES = 4


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

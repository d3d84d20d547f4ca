"""What is wrong with an index, and how it is emptied to be made anew."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw

from ....model import Problem
from ..connection import Connection, open_reader
from ..feed import KIND_COVER, KIND_UNCOVER
from .file import FORMAT, index_path, open_index_reader, open_index_writer, read_place
from .follower import Owners

logger = logging.getLogger(__name__)

_FILES = ("", "-wal", "-shm")
PATIENCE_S = 1.0
_NUMBERS = "SELECT number FROM entry ORDER BY 1"
_INDEXED = "SELECT id FROM words_docsize ORDER BY 1"
_LIVE = "SELECT pos, home FROM message WHERE body IS NOT NULL"


def index_problems(main: Connection) -> list[Problem]:
    """Look for damage in the index, and for entries too many or too few; change nothing.

    That there is none, or that it is behind, is no problem: it will be made, or follow.
    """
    path = index_path(main.raw.filename)
    try:
        index = open_index_reader(path, main.clock, PATIENCE_S)
        if index is None:
            return []
        # Read first, so that it can only be behind the database.
        with closing(index), index.snapshot():
            damage = [what for (what,) in index.rows("PRAGMA integrity_check") if what != "ok"]
            fresh = open_reader(main.raw.filename, main.clock, PATIENCE_S, None)
            with closing(fresh), fresh.snapshot():
                faults = damage or list(_faults(index, fresh))
            return [Problem(kind="index", where=path, what=what) for what in faults]
    except apsw.ReadOnlyError:
        # Whoever was making it was stopped: the next to write to it takes that back.
        return []
    except apsw.Error as error:
        return [Problem(kind="index", where=path, what=f"it cannot be read: {error}")]


def _faults(index: Connection, main: Connection) -> Iterator[str]:
    if index.value("PRAGMA user_version") != FORMAT or (place := read_place(index, main)) is None:
        # It is another version's or another database's, or not complete: nothing in it is used.
        return
    fresh = _touched_since(main, place.mark.seq)
    entries = {pos for (pos,) in index.rows("SELECT pos FROM entry")}
    summaries = {-number for (number,) in main.rows("SELECT number FROM overlay")}
    messages = main.rows(_LIVE)
    live = {pos for pos, _ in messages}
    owners = Owners(main)
    seen = {pos for pos, home in messages if owners.of_home(home) is not None}
    if missing := seen - entries - fresh:
        yield f"{len(missing)} messages are not in it"
    if left := {pos for pos in entries - live - fresh if pos > 0}:
        yield f"{len(left)} messages that are gone are still in it"
    if ({pos for pos in entries if pos < 0} ^ summaries) - fresh:
        yield "it has not the summaries that there are"
    numbers, indexed = (index.rows(sql) for sql in (_NUMBERS, _INDEXED))
    if numbers != indexed:
        yield f"it has {len(numbers)} entries, and words of {len(indexed)}"


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
    for suffix in _FILES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)

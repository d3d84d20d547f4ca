"""The index's file: how it is opened, and how far it has followed the feed.

It is derived from the database and can be made again at any time. An entry's number begins with
its owner's, so that an owner is a range of numbers; below that it grows with time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from ..connection import Connection, make_durable, open_reader, open_writer
from ..inheritance import OPENING

logger = logging.getLogger(__name__)

FORMAT = 2
OWNER_BITS = 37
"""How far an owner's number is shifted: that many bits number its entries."""
CHECKSUM_BYTES = 8
"""What the shim asks to be left free at the end of each page."""

_EXTRA = "cksumvfs"
_VFS = "cksmvfs"
_SCHEMA = """
CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE entry (number INTEGER PRIMARY KEY, pos INTEGER NOT NULL UNIQUE);
CREATE TABLE todo (number INTEGER PRIMARY KEY, pos INTEGER NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(
    said, home, content='', contentless_delete=1, tokenize='ascii'
);
-- As much as fits into a page beside its checksum: the rest would take a page of its own.
INSERT INTO words (words, rank) VALUES ('pgsz', 4040);
"""
_PLACE_IN_FEED = (
    "SELECT d.value, t.value, c.at, c.first, (SELECT max(seq) FROM change)"
    " FROM sequence d JOIN sequence t"
    " LEFT JOIN change c ON c.seq = ? WHERE d.name = 'database' AND t.name = 'trimmed'"
)


class Mark(NamedTuple):
    """A change of the database: its number, its time and its first position."""

    seq: int
    at: int
    first: int


class FeedPlace(NamedTuple):
    """The last change that an index has followed, and how many may be yet to follow.

    `made` tells the index from those that were in its place before.
    """

    mark: Mark
    lag: int
    made: int


START = Mark(0, 0, 0)


def index_path(database: str) -> str:
    """Return the name of the index of a database."""
    return f"{database}-search"


def open_index_writer(path: str, clock: Callable[[], int], patience_s: float) -> Connection:
    """Open the index to write to it, and make it if it is not there."""
    vfs = checksum_vfs()
    index = open_writer(path, clock, patience_s, vfs)
    with index.closed_on_failure():
        refuse_if_cut(index)
        is_to_get_room = _leave_room_for_checksums(index, vfs)
        make_durable(index, path, "normal", patience_s)
        if index.value("PRAGMA user_version") != FORMAT:
            _make_anew(index)
        elif is_to_get_room:
            # Whoever made it has no checksums to keep, or was killed before this.
            index.raw.execute("VACUUM")
    return index


def open_index_reader(path: str, clock: Callable[[], int], patience_s: float) -> Connection | None:
    """Open the index to read it; None when it is not there."""
    if not Path(path).exists():
        return None
    index = open_reader(path, clock, patience_s, checksum_vfs())
    with index.closed_on_failure():
        refuse_if_cut(index)
    return index


def refuse_if_cut(index: Connection) -> None:
    """Refuse a file that ends within a page: SQLite reads zeros there, and asks for no checksum.

    It may be cut while it is open, and is whole again, but for the zeros, when the log is copied
    back. So this is asked before anything that was read is relied on.
    """
    try:
        size = Path(index.raw.filename).stat().st_size
    except OSError as error:
        # Another process is making it anew.
        raise apsw.CantOpenError(str(error)) from error
    if size % index.value("PRAGMA page_size"):
        raise apsw.CorruptError("the index ends within a page")


def _leave_room_for_checksums(index: Connection, vfs: str | None) -> bool:
    """Ask for room in each page, and return whether it was made without any.

    Where nobody would keep the checksums in it, refuse to write.
    """
    # The file's own room is only known once something was read.
    version, room = index.value("PRAGMA user_version"), index.raw.reserve_bytes()
    if vfs is not None:
        index.raw.reserve_bytes("main", CHECKSUM_BYTES)
        return not room
    if version and room:
        raise apsw.SQLError(
            "this apsw cannot keep the checksums in it: a repair makes it anew without them"
        )
    return False


def _make_anew(index: Connection) -> None:
    """Make the tables; what an older format left is dropped."""
    with index.transaction():
        if index.value("PRAGMA user_version") == FORMAT:
            return
        tables = index.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            " ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC"
        )
        for (name,) in tables:
            index.raw.execute('DROP TABLE IF EXISTS "{}"'.format(name.replace('"', '""')))
        index.raw.execute(_SCHEMA)
        index.raw.execute(f"PRAGMA user_version = {FORMAT}")
        if tables:
            put_state(index, removed=0)
    # What was made without room for checksums gets it.
    index.raw.execute("VACUUM")


def read_state(index: Connection) -> dict[str, int]:
    """Read how far the index is, and of which database."""
    return dict(index.rows("SELECT name, value FROM state"))


def put_state(index: Connection, **values: int) -> None:
    """Keep how far the index is."""
    index.run_many("INSERT OR REPLACE INTO state VALUES (?, ?)", list(values.items()))


def read_place(index: Connection, main: Connection) -> FeedPlace | None:
    """Return the place in the feed that the index has followed to.

    None when the index is not complete, is another database's, or lost its place in the feed:
    then nothing in it counts.
    """
    state = read_state(index)
    if "seq" not in state:
        return None
    mark = Mark(state["seq"], state["at"], state["first"])
    database, trimmed, at, first, newest = main.row(_PLACE_IN_FEED, (mark.seq,))
    if at is None:
        is_there = trimmed == mark.seq or (mark == START and not trimmed)
    else:
        # A copy of the database that was put back has other changes under the same numbers.
        is_there = (at, first) == (mark.at, mark.first)
    # Feeds are trimmed each by itself: what follows the place may be gone, and it not.
    is_there = is_there and trimmed <= mark.seq and state.get("database") == database
    made = state.get("made", 0)
    return FeedPlace(mark, (newest or 0) - mark.seq, made) if is_there else None


def newest_mark(main: Connection) -> Mark:
    """Return the database's newest change."""
    found = main.row("SELECT seq, at, first FROM change ORDER BY seq DESC LIMIT 1")
    return Mark._make(found) if found is not None else START


def database_number(main: Connection) -> int:
    """Return the number by which a database is told from others."""
    number: int = main.value("SELECT value FROM sequence WHERE name = 'database'")
    return number


class IndexFailedError(Exception):
    """The index cannot be used: its search is done without it."""


def checksum_vfs() -> str | None:
    """Return the name of the shim; None where apsw came without it."""
    # A second one would be laid over the first, and call itself.
    with OPENING:
        return _VFS if _VFS in apsw.vfs_names() or _is_loaded() else None


def _is_loaded() -> bool:
    default = apsw.vfs_names()[0]
    try:
        from apsw import sqlite_extra  # older ones have none

        if sqlite_extra.has(_EXTRA) is None:
            return False
        with closing(apsw.Connection(":memory:")) as any_connection:
            sqlite_extra.load(any_connection, _EXTRA)
    except (ImportError, apsw.Error):
        logger.debug("pages of the index have no checksums", exc_info=True)
        return False
    # It makes itself the default: other connections of the process are none of our concern.
    apsw.set_default_vfs(default)
    return True

"""Which erasures the file has yet to forget.

Deleted content is overwritten where it stands, but when SQLite moves rows between pages it leaves
copies in the unused part of the old page, which no statement reaches. So a deletion is noted, and
`finish_deletions` rewrites the file after one.
"""

from __future__ import annotations

from .connection import Connection
from .feed import KIND_GONE, latest_seq, record_removal


def note_erasure(tx: Connection) -> None:
    """Note that something was deleted; called after its change was recorded."""
    tx.run("INSERT OR IGNORE INTO erased VALUES (?)", (latest_seq(tx),))


def note_erasure_apart(tx: Connection) -> None:
    """Note that something was deleted that is no part of the feed, under a change of its own."""
    record_removal(tx, KIND_GONE, 0, 0)
    note_erasure(tx)


def latest_erasure(tx: Connection) -> int | None:
    """Return the newest erasure that the file has yet to forget."""
    found: int | None = tx.value("SELECT max(seq) FROM erased")
    return found


def forget_erasures(tx: Connection, until: int) -> None:
    """Note that the file was rewritten after an erasure."""
    tx.run("DELETE FROM erased WHERE seq <= ?", (until,))

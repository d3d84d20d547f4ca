"""What a deletion leaves to be done: rows go in small chunks, so that writers are not held up.

A retired home's segments are nobody's. Each is cut after the deepest position that somebody still
stands on (a segment that branches off it, or a session's fork point), or deleted; then the one
that it stood on itself is looked at again.
"""

from __future__ import annotations

from ..relational.position import DEPTH_BITS, whole_segment
from ..relational.rows import SessionRow
from .connection import Connection
from .descent import leave
from .erasure import note_erasure
from .feed import KIND_GONE, KIND_RETIRE, record_change, record_removal
from .overlays import drop_unused_overlays

ROWS_IN_A_CHUNK = 100


def retire(tx: Connection, row: SessionRow) -> None:
    """Take a session's messages out of use: its home number is never used again."""
    tx.run("INSERT OR IGNORE INTO sweep SELECT number FROM segment WHERE home = ?", (row.home,))
    if row.fork:
        tx.run("INSERT OR IGNORE INTO sweep VALUES (?)", (row.fork >> DEPTH_BITS,))
    overlays = tx.rows("SELECT overlay FROM in_force WHERE session = ?", (row.number,))
    tx.run("DELETE FROM in_force WHERE session = ?", (row.number,))
    drop_unused_overlays(tx, [number for (number,) in overlays])
    leave(tx, row.home)
    record_change(tx, row, KIND_RETIRE, 0, 0, tx.clock(), row.id)
    note_erasure(tx)
    tx.left_to_sweep = True


def sweep_chunk(tx: Connection) -> bool:
    """Do a bounded piece of what is left to be done; tell whether there may be more."""
    segment = tx.value("SELECT segment FROM sweep ORDER BY segment DESC LIMIT 1")
    if segment is None:
        return False
    kept = _deepest_stand(tx, segment)
    if kept is None:
        tx.run("DELETE FROM sweep WHERE segment = ?", (segment,))
        return True
    gone = tx.rows(
        "DELETE FROM message WHERE pos IN"
        " (SELECT pos FROM message WHERE pos > ? AND pos <= ? ORDER BY pos DESC LIMIT ?)"
        " RETURNING pos",
        (kept, whole_segment(segment)[1], ROWS_IN_A_CHUNK),
    )
    tx.run_many("DELETE FROM edit WHERE pos = ?", gone)
    if gone:
        record_removal(tx, KIND_GONE, min(gone)[0], max(gone)[0])
        # Noted here, too: the file may have been rewritten since the session was retired.
        note_erasure(tx)
    if len(gone) < ROWS_IN_A_CHUNK:
        _finish(tx, segment, kept)
    return True


def _deepest_stand(tx: Connection, segment: int) -> int | None:
    """Give the deepest position stood on, the segment's start if none; None if it is in use."""
    first, last = whole_segment(segment)
    is_nobodys = tx.value(
        "SELECT 1 FROM segment g WHERE g.number = ?"
        " AND NOT EXISTS (SELECT 1 FROM session s WHERE s.home = g.home)",
        (segment,),
    )
    if not is_nobodys:
        return None
    stand: int = tx.value(
        "SELECT max(coalesce((SELECT max(parent) FROM segment WHERE parent BETWEEN ?1 AND ?2), ?1),"
        " coalesce((SELECT max(fork) FROM session WHERE fork > 0 AND fork BETWEEN ?1 AND ?2), ?1))",
        (first, last),
    )
    return stand


def _finish(tx: Connection, segment: int, kept: int) -> None:
    """Take a segment off the list; one that nobody stands on goes, and its parent is next."""
    tx.run("DELETE FROM sweep WHERE segment = ?", (segment,))
    if kept != whole_segment(segment)[0]:
        return
    parent = tx.value("DELETE FROM segment WHERE number = ? RETURNING parent", (segment,))
    if parent:
        tx.run("INSERT OR IGNORE INTO sweep VALUES (?)", (parent >> DEPTH_BITS,))

"""What a deletion leaves to be done: rows go in chunks, so that others are not held up.

A retired home's segments are nobody's. Each is cut after the deepest position that somebody still
stands on (a segment that branches off it, or a session's fork point), or deleted; then the one
that it stood on itself is looked at again.
"""

from __future__ import annotations

from ...relational.position import DEPTH_BITS, MAX_DEPTH
from ...relational.rows import SessionRow
from .tx import AsyncTx

ROWS_IN_A_CHUNK = 500
CHUNKS_AT_ONCE = 4
"""How many chunks a deletion does away with itself; the rest is for `settle`, or the next."""

_RETIRE = (
    "INSERT INTO {s}.sweep SELECT tree, number FROM {s}.segment WHERE tree = %s AND home = %s"
    " ON CONFLICT DO NOTHING"
)
_ADD = "INSERT INTO {s}.sweep VALUES (%s, %s) ON CONFLICT DO NOTHING"
_IS_NOBODYS = (
    "SELECT EXISTS (SELECT 1 FROM {s}.segment g WHERE g.tree = %s AND g.number = %s"
    " AND NOT EXISTS (SELECT 1 FROM {s}.session s WHERE s.tree = g.tree AND s.home = g.home))"
)
_STAND = (
    "SELECT greatest(%(first)s, (SELECT max(parent) FROM {s}.segment WHERE tree = %(tree)s"
    " AND parent BETWEEN %(first)s AND %(last)s), (SELECT max(fork) FROM {s}.session"
    " WHERE tree = %(tree)s AND fork > 0 AND fork BETWEEN %(first)s AND %(last)s))"
)
_CUT = (
    "WITH gone AS (DELETE FROM {s}.message WHERE tree = %(tree)s AND pos IN"
    " (SELECT pos FROM {s}.message WHERE tree = %(tree)s AND pos > %(kept)s AND pos <= %(last)s"
    " ORDER BY pos DESC LIMIT %(most)s) RETURNING pos),"
    " unedited AS (DELETE FROM {s}.edit WHERE tree = %(tree)s AND pos IN (SELECT pos FROM gone))"
    " SELECT count(*) FROM gone"
)


async def retire(tx: AsyncTx, row: SessionRow) -> None:
    """Take a session's messages out of use: its home number is never used again."""
    await tx.run(_RETIRE, (row.tree, row.home))
    if row.fork:
        await tx.run(_ADD, (row.tree, row.fork >> DEPTH_BITS))
    overlays = await tx.rows(
        "DELETE FROM {s}.in_force WHERE tree = %s AND session = %s RETURNING overlay",
        (row.tree, row.number),
    )
    numbers = [number for (number,) in overlays]
    await tx.run("SELECT {s}.drop_unused(%s, %s::bigint[])", (row.tree, numbers))
    await tx.run(
        "DELETE FROM {s}.inherited WHERE tree = %s AND session = %s", (row.tree, row.number)
    )
    await tx.run(
        "INSERT INTO {s}.change (owner, session, tree, kind, first, last, at, name)"
        " VALUES (%s, %s, %s, 4, 0, 0, %s, %s)",
        (row.owner, row.number, row.tree, await tx.now(), row.id),
    )
    tx.left_to_sweep = True


async def sweep_chunk(tx: AsyncTx) -> bool:
    """Do a bounded piece of what is left to be done; tell whether there may be more."""
    found = await tx.row("SELECT tree FROM {s}.sweep LIMIT 1")
    if found is None:
        return False
    await tx.run("SELECT {s}.lock_tree(%s)", found)
    (tree,) = found
    segment = await tx.value("SELECT max(segment) FROM {s}.sweep WHERE tree = %s", (tree,))
    if segment is None:
        return True
    if not await tx.value(_IS_NOBODYS, (tree, segment)):
        await _take_off(tx, tree, segment)
        return True
    first = segment << DEPTH_BITS
    args = {"tree": tree, "first": first, "last": first | MAX_DEPTH, "most": ROWS_IN_A_CHUNK}
    kept = await tx.value(_STAND, args)
    gone = await tx.value(_CUT, {**args, "kept": kept})
    if gone < ROWS_IN_A_CHUNK:
        await _finish(tx, tree, segment, kept == first)
    return True


async def _take_off(tx: AsyncTx, tree: int, segment: int) -> None:
    await tx.run("DELETE FROM {s}.sweep WHERE tree = %s AND segment = %s", (tree, segment))


async def _finish(tx: AsyncTx, tree: int, segment: int, is_empty: bool) -> None:
    """Take a segment off the list; one that nobody stands on goes, and its parent is next."""
    await _take_off(tx, tree, segment)
    if not is_empty:
        return
    parent = await tx.value(
        "DELETE FROM {s}.segment WHERE tree = %s AND number = %s RETURNING parent", (tree, segment)
    )
    if parent:
        await tx.run(_ADD, (tree, parent >> DEPTH_BITS))

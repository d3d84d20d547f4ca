"""What a deletion leaves to be done: rows go in chunks, so that others are not held up.

A retired home's segments are nobody's. Each is cut after the deepest position that somebody still
stands on (a segment that branches off it, or a session's fork point), or deleted; then the one
that it stood on itself is looked at again. A tree that nobody has any more goes with its last
segment.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, exists, func, select

from ..relational.position import DEPTH_BITS, whole_segment
from ..relational.rows import SessionRow
from .feed import KIND_RETIRE, record_changes
from .lookup import in_parts, lock_tree
from .overlays import drop_unused
from .tables import Tables
from .tx import Tx

ROWS_IN_A_CHUNK = 500
CHUNKS_AT_ONCE = 4
"""How many chunks a deletion does away with itself; the rest is for `settle`, or the next."""


def retire(tx: Tx, row: SessionRow) -> None:
    """Take a session's messages out of use: its home number is never used again."""
    for (segment,) in tx.rows(_segments, tree=row.tree, home=row.home):
        _leave(tx, row.tree, segment)
    # The tree is looked at even when the session never wrote: its row goes, too.
    _leave(tx, row.tree, row.fork >> DEPTH_BITS)
    overlays = [number for (number,) in tx.rows(_overlays, session=row.number)]
    tx.run(_forget_overlays, session=row.number)
    drop_unused(tx, overlays)
    tx.run(_forget_homes, session=row.number)
    record_changes(tx, row, KIND_RETIRE, [0], row.id)
    tx.left_to_sweep = True


def _leave(tx: Tx, tree: int, segment: int) -> None:
    if tx.row(_is_left, tree=tree, segment=segment) is None:
        tx.add("sweep", tree=tree, segment=segment)


def sweep_chunk(tx: Tx) -> bool:
    """Do a bounded piece of what is left to be done; tell whether there may be more."""
    tree = tx.value(_some_tree)
    if tree is None:
        return False
    lock_tree(tx, tree)
    segment = tx.value(_last_segment, tree=tree)
    if segment is None:
        return True
    if segment == 0 or tx.row(_nobodys, segment=segment) is None:
        _finish(tx, tree, segment)
        return True
    first, last = whole_segment(segment)
    kept = _deepest_stand(tx, tree, first, last)
    doomed = [pos for (pos,) in tx.rows(_chunk, tree=tree, kept=kept, last=last)]
    for some in in_parts(doomed):
        tx.run(_delete_messages, tree=tree, positions=some)
        tx.run(_delete_edits, tree=tree, positions=some)
    if len(doomed) < ROWS_IN_A_CHUNK:
        if kept == first:
            _delete_segment(tx, tree, segment)
        _finish(tx, tree, segment)
    return True


def _deepest_stand(tx: Tx, tree: int, first: int, last: int) -> int:
    """Give the deepest position of a segment that is stood on, its start if none."""
    args = {"tree": tree, "low": first, "high": last}
    parent, fork = tx.value(_last_parent, **args), tx.value(_last_fork, **args)
    return max(first, parent or 0, fork or 0)


def _delete_segment(tx: Tx, tree: int, segment: int) -> None:
    """Delete a segment that nobody stands on; what it stood on is next."""
    parent = tx.value(_parent, segment=segment)
    tx.run(_drop_segment, segment=segment)
    _leave(tx, tree, parent >> DEPTH_BITS if parent else 0)


def _finish(tx: Tx, tree: int, segment: int) -> None:
    tx.run(_done, tree=tree, segment=segment)
    if segment == 0 and tx.row(_any_session, tree=tree) is None:
        tx.run(_drop_tree, tree=tree)


def _segments(t: Tables) -> Any:
    g = t.segment.c
    return select(g.number).where(g.tree == bindparam("tree"), g.home == bindparam("home"))


def _overlays(t: Tables) -> Any:
    return select(t.in_force.c.overlay).where(t.in_force.c.session == bindparam("session"))


def _forget_overlays(t: Tables) -> Any:
    return delete(t.in_force).where(t.in_force.c.session == bindparam("session"))


def _forget_homes(t: Tables) -> Any:
    return delete(t.inherited).where(t.inherited.c.session == bindparam("session"))


def _is_left(t: Tables) -> Any:
    w = t.sweep.c
    return select(w.tree).where(w.tree == bindparam("tree"), w.segment == bindparam("segment"))


def _some_tree(t: Tables) -> Any:
    return select(t.sweep.c.tree).limit(1)


def _last_segment(t: Tables) -> Any:
    return select(func.max(t.sweep.c.segment)).where(t.sweep.c.tree == bindparam("tree"))


def _nobodys(t: Tables) -> Any:
    g, s = t.segment.c, t.session.c
    used = exists().where(s.home == g.home)
    return select(g.number).where(g.number == bindparam("segment"), ~used)


def _last_parent(t: Tables) -> Any:
    g = t.segment.c
    return select(func.max(g.parent)).where(
        g.tree == bindparam("tree"), g.parent.between(bindparam("low"), bindparam("high"))
    )


def _last_fork(t: Tables) -> Any:
    s = t.session.c
    return select(func.max(s.fork)).where(
        s.tree == bindparam("tree"), s.fork.between(bindparam("low"), bindparam("high"))
    )


def _chunk(t: Tables) -> Any:
    m = t.message.c
    return (
        select(m.pos)
        .where(m.tree == bindparam("tree"), m.pos > bindparam("kept"), m.pos <= bindparam("last"))
        .order_by(m.pos.desc())
        .limit(ROWS_IN_A_CHUNK)
    )


def _delete_messages(t: Tables) -> Any:
    m = t.message.c
    return delete(t.message).where(
        m.tree == bindparam("tree"), m.pos.in_(bindparam("positions", expanding=True))
    )


def _delete_edits(t: Tables) -> Any:
    e = t.edit.c
    return delete(t.edit).where(
        e.tree == bindparam("tree"), e.pos.in_(bindparam("positions", expanding=True))
    )


def _parent(t: Tables) -> Any:
    return select(t.segment.c.parent).where(t.segment.c.number == bindparam("segment"))


def _drop_segment(t: Tables) -> Any:
    return delete(t.segment).where(t.segment.c.number == bindparam("segment"))


def _done(t: Tables) -> Any:
    w = t.sweep.c
    return delete(t.sweep).where(w.tree == bindparam("tree"), w.segment == bindparam("segment"))


def _any_session(t: Tables) -> Any:
    return select(t.session.c.number).where(t.session.c.tree == bindparam("tree")).limit(1)


def _drop_tree(t: Tables) -> Any:
    return delete(t.home).where(t.home.c.number == bindparam("tree"))

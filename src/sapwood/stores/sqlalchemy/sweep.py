"""Statements about what deletions leave to be done.

A tree that nobody has any more goes with its last segment.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, exists, func, select

from ..relational._sync.sweep import SweepStatements
from ..relational.position import DEPTH_BITS, whole_segment
from ..relational.rows import KIND_RETIRE, SessionRow
from .data import delete_data
from .feed import record_changes
from .lookup import in_parts, lock_tree
from .overlays import drop_unused
from .tables import Tables
from .tx import Tx, delete_by, select_by

_SEGMENTS = select_by("segment", "tree", "home", of=["number"])
_OVERLAYS = select_by("in_force", "session", of=["overlay"])
_FORGET_OVERLAYS = delete_by("in_force", "session")
_FORGET_HOMES = delete_by("inherited", "session")
_IS_LEFT = select_by("sweep", "tree", "segment", of=["tree"])
_PARENT = select_by("segment", "number", of=["parent"])
_DROP_SEGMENT = delete_by("segment", "number")
_DONE = delete_by("sweep", "tree", "segment")
_DROP_TREE = delete_by("home", "number")

CHUNKS_AT_ONCE = 4
"""How many chunks a deletion sweeps itself; the rest is for `finish_deletions`, or the next."""


class SqlSweepStatements(SweepStatements[Tx]):
    """Statements about what deletions leave to be done."""

    rows_at_once = 500

    def retire(self, session: SessionRow) -> None:
        tx = self._tx
        for (segment,) in tx.rows(_SEGMENTS, tree=session.tree, home=session.home):
            self._add(session.tree, segment)
        # The tree is looked at even when the session never wrote: its row goes, too.
        self._add(session.tree, session.fork >> DEPTH_BITS)
        overlays = [number for (number,) in tx.rows(_OVERLAYS, session=session.number)]
        tx.run(_FORGET_OVERLAYS, session=session.number)
        drop_unused(tx, overlays)
        tx.run(_FORGET_HOMES, session=session.number)
        record_changes(tx, session, KIND_RETIRE, [session.version], session.id)
        tx.left_to_sweep = True

    def lock_next(self) -> tuple[int, int | None] | None:
        tree = self._tx.value(_some_tree)
        if tree is None:
            return None
        lock_tree(self._tx, tree)
        return tree, self._tx.value(_last_segment, tree=tree)

    def deepest_stand(self, tree: int, segment: int) -> int | None:
        if self._tx.row(_nobodys, segment=segment) is None:
            return None
        first, last = whole_segment(segment)
        args = {"tree": tree, "low": first, "high": last}
        stands = (self._tx.value(statement, **args) for statement in (_last_parent, _last_fork))
        return max(first, *(stand or 0 for stand in stands))

    def cut(self, tree: int, kept: int, last: int) -> int:
        args = {"tree": tree, "kept": kept, "last": last, "most": self.rows_at_once}
        doomed = [pos for (pos,) in self._tx.rows(_chunk, **args)]
        for some in in_parts(doomed):
            self._tx.run(_delete_messages, tree=tree, positions=some)
            self._tx.run(_delete_edits, tree=tree, positions=some)
            self._tx.run(delete_data, tree=tree, positions=some)
        return len(doomed)

    def _add(self, tree: int, segment: int) -> None:
        """Put a segment on the list; 0 stands for the tree itself."""
        if self._tx.row(_IS_LEFT, tree=tree, segment=segment) is None:
            self._tx.add("sweep", tree=tree, segment=segment)

    def take_off(self, tree: int, segment: int, *, is_empty: bool) -> None:
        if is_empty:
            parent = self._tx.value(_PARENT, number=segment)
            self._tx.run(_DROP_SEGMENT, number=segment)
            self._add(tree, parent >> DEPTH_BITS if parent else 0)
        self._tx.run(_DONE, tree=tree, segment=segment)
        if segment == 0 and self._tx.row(_any_session, tree=tree) is None:
            self._tx.run(_DROP_TREE, number=tree)


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
        .limit(bindparam("most"))
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


def _any_session(t: Tables) -> Any:
    return select(t.session.c.number).where(t.session.c.tree == bindparam("tree")).limit(1)

"""Statements about forks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, select

from ...model import ForkPoint, NewSession, SessionRecord
from ...rules.tree import spans_up
from ..relational._sync.fork import CopiedPath, ForkStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH, bounds, unpack_place
from ..relational.rows import SessionRow
from ..relational.walk import ending_on_path
from .data import copy_data
from .fast_fork import fork_at_once
from .messages import new_segment
from .overlays import SqlOverlayStatements, put_all_in_force
from .tables import Tables
from .tx import ResultRow, Tx

ROWS_IN_A_COPY = 200
_COPIED = ("pos", "id", "role", "tokens", "version", "created_at", "digest", "body")


class SqlForkStatements(ForkStatements):
    """Statements about forks."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def fork_at_once(self, owner: str, new: NewSession, point: ForkPoint) -> SessionRecord | None:
        return fork_at_once(self._tx, owner, new, point)

    def copy_documents(self, fork: SessionRow, source: SessionRow) -> None:
        found = self._tx.rows(_documents, owner=source.owner, session=source.number)
        place = {"owner": fork.owner, "session": fork.number, "expires_at": None, "inherit": 1}
        kept = ("key", "updated_at", "value", "created_at")
        self._tx.add_all("document", [place | dict(zip(kept, row, strict=True)) for row in found])

    def stand_on(self, fork: SessionRow, source: SessionRow, pos: int) -> int:
        # Its number is taken; there is no tree of that name for anybody to lock.
        self._tx.run(_drop_home, number=fork.home)
        if not pos:
            return 0
        _inherit_homes(self._tx, fork, source, pos)
        taken = self.overlays_on(source, pos) if source.overlays else []
        ends = [(first, last, number) for number, _, first, last, *_ in taken]
        put_all_in_force(self._tx, fork.number, ends)
        return len(taken)

    def copy_path(self, fork: SessionRow, source: SessionRow, pos: int) -> CopiedPath:
        tx, running, live = self._tx, 0, 0
        base = new_segment(tx, fork.tree, fork.home, 0) << DEPTH_BITS
        for span in reversed(list(spans_up(unpack_place(pos), tx.lineage))):
            first, last = bounds(span)
            for start in range(first, last + 1, ROWS_IN_A_COPY):
                end = min(start + ROWS_IN_A_COPY - 1, last)
                rows = tx.rows(_messages, tree=source.tree, low=start, high=end)
                running, added = _copy_rows(tx, fork, base, running, rows)
                live += added
            if source.has_data:
                copy_data(tx, fork, base, source.tree, first, last)
        return CopiedPath(base, live)

    def overlays_on(self, source: SessionRow, pos: int) -> list[ResultRow]:
        overlays = SqlOverlayStatements(self._tx).in_force(source)
        return ending_on_path(overlays, pos, self._tx.lineage)


def _inherit_homes(tx: Tx, fork: SessionRow, source: SessionRow, pos: int) -> None:
    """Note the homes on the path: that of the fork point, and those which its session inherited.

    Where that session is gone, the source's are taken: some of them may lie off the path.
    """
    home, number = tx.row(_writer, tree=source.tree, pos=pos)
    found = tx.rows(_inherited, session=source.number if number is None else number)
    homes = dict.fromkeys([home, *(it for (it,) in found)])
    tx.add_all("inherited", [{"session": fork.number, "home": it} for it in homes])


def _copy_rows(tx: Tx, fork: SessionRow, base: int, running: int, rows: Any) -> tuple[int, int]:
    copies = []
    for row in rows:
        copy = dict(zip(_COPIED, row, strict=True))
        running += copy["tokens"]
        place = {"tree": fork.tree, "pos": base | (copy["pos"] & MAX_DEPTH), "owner": fork.owner}
        copies.append(copy | place | {"home": fork.home, "path_tokens": running})
    seqs = tx.next_seqs(len(copies))
    tx.add_all("message", [it | seq for it, seq in zip(copies, seqs, strict=True)])
    return running, sum(it["body"] is not None for it in copies)


def _documents(t: Tables) -> Any:
    d = t.document.c
    return (
        select(d.key, d.updated_at, d.value, d.created_at)
        .where(
            d.owner == bindparam("owner"),
            d.session == bindparam("session"),
            d.expires_at.is_(None),
            d.inherit == 1,
        )
        .order_by(d.version)
    )


def _drop_home(t: Tables) -> Any:
    return delete(t.home).where(t.home.c.number == bindparam("number"))


def _writer(t: Tables) -> Any:
    m, s = t.message.c, t.session.c
    return (
        select(m.home, s.number)
        .select_from(t.message.outerjoin(t.session, s.home == m.home))
        .where(m.tree == bindparam("tree"), m.pos == bindparam("pos"))
    )


def _inherited(t: Tables) -> Any:
    return select(t.inherited.c.home).where(t.inherited.c.session == bindparam("session"))


def _messages(t: Tables) -> Any:
    m = t.message.c
    return (
        select(*(m[key] for key in _COPIED))
        .where(m.tree == bindparam("tree"), m.pos.between(bindparam("low"), bindparam("high")))
        .order_by(m.pos)
    )

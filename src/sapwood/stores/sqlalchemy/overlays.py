"""Statements about overlays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import and_, bindparam, delete, exists, select

from ...rules.tree import Place
from ..relational._sync.overlays import OverlayStatements
from ..relational.position import MAX_DEPTH
from ..relational.rows import (
    OVERLAY_LAST,
    OVERLAY_NUMBER,
    NewOverlayRow,
    SessionRow,
)
from ..relational.walk import ranges_between
from .lookup import in_parts, overlay_columns
from .sums import deltas_between, path_tokens
from .tables import Tables
from .tx import ResultRow, Tx, delete_by, select_by, update_by

_BY_ID = select_by("overlay", "tree", "id", of=["number"])
_REWRITE = update_by("overlay", "number")
_OUT_OF_FORCE = delete_by("in_force", "session", "last", "overlay")


class SqlOverlayStatements(OverlayStatements[Tx]):
    """Statements about overlays."""

    def find(self, session: SessionRow, id: str) -> ResultRow:
        return self._tx.row(_find, session=session.number, tree=session.tree, id=id)

    def in_force(self, session: SessionRow) -> list[ResultRow]:
        return list(self._tx.rows(_in_force, session=session.number))

    def is_taken(self, session: SessionRow, id: str) -> bool:
        return self._tx.row(_BY_ID, tree=session.tree, id=id) is not None

    def add(self, session: SessionRow, new: NewOverlayRow) -> ResultRow:
        values = new._asdict() | {"summary": new.summary.encode()}
        number = self._tx.add("overlay", tree=session.tree, **values)
        put_in_force(self._tx, session.number, new.first, new.last, number)
        return (number, *values.values())

    def rewrite(self, session: SessionRow, found: ResultRow, summary: str, metadata: bytes) -> None:
        said = {"metadata": metadata, "summary": summary.encode()}
        self._tx.run(_REWRITE, of_number=found[OVERLAY_NUMBER], **said)

    def remove(self, session: SessionRow, found: ResultRow) -> None:
        number = found[OVERLAY_NUMBER]
        self._tx.run(
            _OUT_OF_FORCE, session=session.number, last=found[OVERLAY_LAST], overlay=number
        )
        drop_unused(self._tx, [number])

    def tokens_between(self, session: SessionRow, first: int, last: int) -> int:
        tx, tree = self._tx, session.tree
        running, own, delta = tx.row(_sums_at, tree=tree, pos=first)
        # The first row's own share of the running sum is its tokens as they were when appended.
        before = int(running - own + (delta or 0))
        return deltas_between(tx, tree, first, last) + path_tokens(tx, tree, last) - before

    def is_changed(self, session: SessionRow, first: Place, last: Place, snapshot: int) -> bool:
        for low, high in ranges_between(first, last, self._tx.lineage):
            args = {"tree": session.tree, "low": low, "high": high, "seq": snapshot}
            if self._tx.row(_edited_since, **args) is not None:
                return True
        return False


def put_in_force(tx: Tx, session: int, first: int, last: int, overlay: int) -> None:
    """Put an overlay in force for a session; of those with one end the widest comes last."""
    put_all_in_force(tx, session, [(first, last, overlay)])


def put_all_in_force(tx: Tx, session: int, overlays: Iterable[tuple[int, int, int]]) -> None:
    """Put overlays in force for a session, each given by its first and last position and number."""
    tx.add_all(
        "in_force",
        [
            {"session": session, "last": last, "width": -(first & MAX_DEPTH), "overlay": number}
            for first, last, number in overlays
        ],
    )


def drop_unused(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete those of the overlays that no session has in force."""
    for some in in_parts(numbers):
        tx.run(_drop_unused, numbers=some)


def _joined(t: Tables) -> Any:
    return select(*overlay_columns(t)).select_from(
        t.overlay.join(t.in_force, t.in_force.c.overlay == t.overlay.c.number)
    )


def _in_force(t: Tables) -> Any:
    mine = t.in_force.c.session == bindparam("session")
    return _joined(t).where(mine).order_by(t.overlay.c.number)


def _find(t: Tables) -> Any:
    o = t.overlay.c
    return _joined(t).where(
        t.in_force.c.session == bindparam("session"),
        o.tree == bindparam("tree"),
        o.id == bindparam("id"),
    )


def _sums_at(t: Tables) -> Any:
    m, e = t.message.c, t.edit.c
    joined = t.message.outerjoin(t.edit, and_(e.tree == m.tree, e.pos == m.pos))
    return (
        select(m.path_tokens, m.tokens, e.delta)
        .select_from(joined)
        .where(m.tree == bindparam("tree"), m.pos == bindparam("pos"))
    )


def _edited_since(t: Tables) -> Any:
    e = t.edit.c
    return (
        select(e.seq)
        .where(
            e.tree == bindparam("tree"),
            e.pos.between(bindparam("low"), bindparam("high")),
            e.seq > bindparam("seq"),
        )
        .limit(1)
    )


def _drop_unused(t: Tables) -> Any:
    used = exists().where(t.in_force.c.overlay == t.overlay.c.number)
    wanted = t.overlay.c.number.in_(bindparam("numbers", expanding=True))
    return delete(t.overlay).where(wanted, ~used)

"""The search for damage of data at positions, and its repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import and_, literal, or_, select

from ...errors import StoreCorruptError
from ...model import Problem
from ...rules.codec import decode_json
from ..relational.problems import data_problem, lost_mark, segment_problem
from ..relational.rows import MARK
from ..relational.walk import parent_pos
from .data import data_at, note_data
from .tables import Tables
from .tx import Tx, update_by

_PUT_PREVIOUS = update_by("data", "tree", "pos")
_PUT_SEGMENT = update_by("segment", "number")
_PUT_SESSION = update_by("session", "number")


def data_problems(tx: Tx) -> Iterator[Problem]:
    """Look for versions that cannot be read, or are not where they are looked for."""
    lost = _lost(tx)
    yield from map(lost_mark, sorted(lost))
    for tree, pos, previous, value, is_there in tx.rows(_every):
        try:
            decode_json(value, "the data")
        except StoreCorruptError as error:
            yield data_problem(pos, str(error))
        if not is_there:
            yield data_problem(pos, "its position is missing")
        elif previous != _right(tx, lost, previous, tree, parent_pos(pos, tx.lineage)):
            yield data_problem(pos, "the version before it is another one")
    for segment, tree, parent, kept in tx.rows(_segments):
        if kept != _right(tx, lost, kept, tree, parent):
            yield segment_problem(segment, "its data is another one")
    for _, id in tx.rows(_unnoted):
        yield Problem(kind="session", where=id, what="it does not know of the data in its tree")
    for _, id, _ in _wrong_tips(tx, lost):
        yield Problem(kind="session", where=id, what="the data at its tip is another one")


def rebuild_data(tx: Tx) -> None:
    """Rebuild where the data stands that each segment and each version goes on from."""
    lost = _lost(tx)
    # A segment follows one that was there before it, so that its number is lower.
    for segment, tree, parent, kept in tx.rows(_segments):
        right = _right(tx, lost, kept, tree, parent)
        if kept != right:
            tx.run(_PUT_SEGMENT, of_number=segment, data_at=right)
    for tree, pos, previous, _, is_there in tx.rows(_every):
        if not is_there:
            continue
        right = _right(tx, lost, previous, tree, parent_pos(pos, tx.lineage))
        if right != previous:
            tx.run(_PUT_PREVIOUS, of_tree=tree, of_pos=pos, previous=right)
    for tree in sorted({tree for tree, _ in tx.rows(_unnoted)}):
        tx.run(note_data, of_tree=tree)
    for session, _, right in _wrong_tips(tx, lost):
        tx.run(_PUT_SESSION, of_number=session, data_at=right)


def _lost(tx: Tx) -> set[int]:
    """Return where marks stand whose data is gone."""
    return {pos for (pos,) in tx.rows(_marks_alone)}


def _right(tx: Tx, lost: set[int], kept: int, tree: int, above: int) -> int:
    """Return where the data stands that holds above; what was kept, if that is lost."""
    return kept if kept in lost else data_at(tx, tree, above)


def _wrong_tips(tx: Tx, lost: set[int]) -> Iterator[tuple[int, str, int]]:
    """Yield sessions that keep a wrong place of the data at their tips: number, id, the right."""
    for session, id, tree, tip, kept in tx.rows(_keeping):
        right = _right(tx, lost, kept, tree, tip)
        if kept != right:
            yield session, id, right


def _every(t: Tables) -> Any:
    d, m = t.data.c, t.message.c
    joined = t.data.outerjoin(t.message, and_(m.tree == d.tree, m.pos == d.pos))
    columns = (d.tree, d.pos, d.previous, d.value, m.pos.is_not(None))
    return select(*columns).select_from(joined).order_by(d.pos)


def _marks_alone(t: Tables) -> Any:
    d, m = t.data.c, t.message.c
    joined = t.message.outerjoin(t.data, and_(d.tree == m.tree, d.pos == m.pos))
    is_mark = and_(m.body.is_(None), m.role == literal(MARK, m.role.type))
    return select(m.pos).select_from(joined).where(is_mark, d.pos.is_(None))


def _segments(t: Tables) -> Any:
    g = t.segment.c
    return select(g.number, g.tree, g.parent, g.data_at).order_by(g.number)


def _keeping(t: Tables) -> Any:
    s = t.session.c
    wanted = (s.ends == 1) & or_(s.has_data == 1, s.data_at != 0)
    return select(s.number, s.id, s.tree, s.tip, s.data_at).where(wanted).order_by(s.number)


def _unnoted(t: Tables) -> Any:
    s, d = t.session.c, t.data.c
    held = select(d.pos).where(d.tree == s.tree).exists()
    return select(s.tree, s.id).where(s.has_data == 0, held)

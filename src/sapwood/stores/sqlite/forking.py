"""Forks: a new pointer into the same tree, or a copy of a path in a tree of its own."""

from __future__ import annotations

from ...model import ForkPoint
from ...rules.tree import Place, is_on_path, spans_up
from ..relational.position import DEPTH_BITS, MAX_DEPTH, bounds, unpack_place
from ..relational.rows import SessionRow
from .appending import new_segment
from .connection import Connection
from .descent import descend
from .feed import KIND_APPEND, KIND_COVER, record_change
from .lookup import get_pos
from .overlays import get_overlay, put_in_force
from .rows import MESSAGE_COLUMNS, refuse_if_changed
from .standing import put_standing
from .sums import keep_context_at


def fork_session(tx: Connection, fork: SessionRow, source: SessionRow, point: ForkPoint) -> None:
    """Make a new, empty session a fork of another one."""
    pos = source.tip if point.message is None else get_pos(tx, source, point.message)
    _copy_documents(tx, fork, source)
    place = _copy_path if point.detach else _stand_on
    fork = place(tx, fork, source, pos)
    same = fork.tip == source.tip and source.context is not None
    context = source.context if same else keep_context_at(tx, fork, fork.tip)
    put_standing(tx, fork._replace(context=context))


def _copy_documents(tx: Connection, fork: SessionRow, source: SessionRow) -> None:
    tx.run(
        "INSERT INTO document (owner, session, key, updated_at, expires_at, value, checksum)"
        " SELECT owner, ?, key, updated_at, NULL, value, checksum FROM document"
        " WHERE owner = ? AND session = ? AND expires_at IS NULL",
        (fork.number, source.owner, source.number),
    )


def _stand_on(tx: Connection, fork: SessionRow, source: SessionRow, pos: int) -> SessionRow:
    overlays = _overlays_on_path(tx, source, pos)
    for number, last, first_depth in overlays:
        put_in_force(tx, fork.number, last, first_depth, number)
    if pos:
        descend(tx, fork.home, pos)
    return fork._replace(
        tree=source.tree, tip=pos, fork=pos, overlays=len(overlays), edited=source.edited
    )


def _overlays_on_path(tx: Connection, source: SessionRow, pos: int) -> list[tuple[int, int, int]]:
    """Give the overlays of the source whose end lies on the path to a position."""
    if not source.overlays or not pos:
        return []
    leaf = unpack_place(pos)
    rows = tx.rows(
        "SELECT overlay, last, first_depth FROM in_force WHERE session = ?", (source.number,)
    )
    return [row for row in rows if is_on_path(_place(row[1]), leaf, tx.lineage)]


def _place(pos: int) -> Place:
    return Place(pos >> DEPTH_BITS, pos & MAX_DEPTH)


def _copy_path(tx: Connection, fork: SessionRow, source: SessionRow, pos: int) -> SessionRow:
    """Copy every position of a path into one segment, with its running sums made anew."""
    if not pos:
        return fork
    base = new_segment(tx, fork.home, 0) << DEPTH_BITS
    running = 0
    for span in reversed(list(spans_up(unpack_place(pos), tx.lineage))):
        first, last = bounds(span)
        offset = base - (span.segment << DEPTH_BITS)
        _refuse_damage(tx, first, last)
        tx.run(
            "INSERT INTO message SELECT pos + ?1, ?2, id, role, tokens,"
            " ?3 + sum(tokens) OVER (ORDER BY pos), digest, version, created_at, body,"
            " checksum_of(pos + ?1, ?2, id, role, tokens, version, created_at, body)"
            " FROM message WHERE pos BETWEEN ?4 AND ?5",
            (offset, fork.home, running, first, last),
        )
        running = tx.value("SELECT path_tokens FROM message WHERE pos = ?", (last + offset,))
    tip = base | (pos & MAX_DEPTH)
    live = tx.value(
        "SELECT count(*) FROM message WHERE pos BETWEEN ? AND ? AND body IS NOT NULL", (base, tip)
    )
    record_change(tx, fork, KIND_APPEND, base + 1, tip, tx.clock())
    overlays = _copy_overlays(tx, fork, source, pos, base)
    return fork._replace(tip=tip, messages=live, overlays=overlays)


def _refuse_damage(tx: Connection, first: int, last: int) -> None:
    """See that nothing damaged is copied: the copy would pass for what was written."""
    sql = f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE pos BETWEEN ? AND ?"
    with tx.stream(sql, (first, last)) as rows:
        for row in rows:
            refuse_if_changed(row)


def _copy_overlays(
    tx: Connection, fork: SessionRow, source: SessionRow, pos: int, base: int
) -> int:
    overlays = _overlays_on_path(tx, source, pos)
    for number, last, first_depth in sorted(overlays):
        get_overlay(tx, number)
        last_copy = base | (last & MAX_DEPTH)
        copy = tx.value(
            "INSERT INTO overlay (tree, id, first, last, tokens, covered_tokens, created_by,"
            " created_at, metadata, summary, checksum) SELECT ?1, id, ?2, ?3, tokens,"
            " covered_tokens, created_by, created_at, metadata, summary, checksum_of(id, ?2, ?3,"
            " tokens, covered_tokens, created_by, created_at, metadata, summary)"
            " FROM overlay WHERE number = ?4 RETURNING number",
            (fork.tree, base | first_depth, last_copy, number),
        )
        put_in_force(tx, fork.number, last_copy, first_depth, copy)
        record_change(tx, fork, KIND_COVER, copy, copy, tx.clock())
    return len(overlays)

"""Making a session a fork: standing on a path, or copying it into a tree of its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, select

from ...model import ForkPoint
from ...rules.tree import is_on_path, spans_up
from ..relational.position import DEPTH_BITS, MAX_DEPTH, bounds, place_of, unpack_place
from ..relational.rows import SessionRow
from .appending import new_segment, put_session
from .lookup import get_pos
from .overlays import put_all_in_force, put_in_force
from .rows import overlay_columns
from .sums import context_at
from .tables import Tables
from .tx import Row, Tx

ROWS_IN_A_COPY = 200
_COPIED = ("pos", "id", "role", "tokens", "version", "created_at", "digest", "body")


def fork_session(tx: Tx, fork: SessionRow, source: SessionRow, point: ForkPoint) -> None:
    """Make a new, empty session a fork of another one, whose tree is locked."""
    pos = source.tip if point.message is None else get_pos(tx, source, point.message)
    _copy_documents(tx, fork, source)
    place = _copy_path if point.detach else _stand_on
    fork = place(tx, fork, source, pos)
    context = context_at(tx, fork, fork.tip)
    figures = {key: getattr(fork, key) for key in ("tree", "tip", "fork", "messages", "overlays")}
    tx.run(put_session, of_number=fork.number, context=context, **figures)


def _copy_documents(tx: Tx, fork: SessionRow, source: SessionRow) -> None:
    found = tx.rows(_documents, owner=source.owner, session=source.number)
    place = {"owner": fork.owner, "session": fork.number, "expires_at": None}
    kept = ("key", "updated_at", "value")
    tx.add_all("document", [place | dict(zip(kept, row, strict=True)) for row in found])


def _stand_on(tx: Tx, fork: SessionRow, source: SessionRow, pos: int) -> SessionRow:
    overlays = _overlays_on_path(tx, source, pos)
    put_all_in_force(tx, fork.number, [(first, last, it) for it, _, first, last, *_ in overlays])
    if pos:
        _inherit_homes(tx, fork, source, pos)
    # Its number is taken; there is no tree of that name for anybody to lock.
    tx.run(_drop_home, number=fork.home)
    return fork._replace(tree=source.tree, tip=pos, fork=pos, overlays=len(overlays))


def _inherit_homes(tx: Tx, fork: SessionRow, source: SessionRow, pos: int) -> None:
    """Note the homes on the path: that of the fork point, and those which its session inherited.

    Where that session is gone, the source's are taken: some of them may lie off the path.
    """
    home, number = tx.row(_writer, tree=source.tree, pos=pos)
    found = tx.rows(_inherited, session=source.number if number is None else number)
    homes = dict.fromkeys([home, *(it for (it,) in found)])
    tx.add_all("inherited", [{"session": fork.number, "home": it} for it in homes])


def _overlays_on_path(tx: Tx, source: SessionRow, pos: int) -> list[Row]:
    """Give the overlays of the source whose end lies on the path to a position, oldest first."""
    if not source.overlays or not pos:
        return []
    leaf = place_of(pos)
    rows = tx.rows(_overlays, session=source.number)
    return [row for row in rows if is_on_path(place_of(row[3]), leaf, tx.lineage)]


def _copy_path(tx: Tx, fork: SessionRow, source: SessionRow, pos: int) -> SessionRow:
    """Copy every position of a path into one segment, with its running sums made anew."""
    if not pos:
        return fork
    base = new_segment(tx, fork.tree, fork.home, 0) << DEPTH_BITS
    running = live = 0
    for span in reversed(list(spans_up(unpack_place(pos), tx.lineage))):
        first, last = bounds(span)
        for start in range(first, last + 1, ROWS_IN_A_COPY):
            end = min(start + ROWS_IN_A_COPY - 1, last)
            rows = tx.rows(_messages, tree=source.tree, low=start, high=end)
            running, added = _copy_rows(tx, fork, base, running, rows)
            live += added
    overlays = _copy_overlays(tx, fork, source, pos, base)
    tip = base | (pos & MAX_DEPTH)
    return fork._replace(tip=tip, messages=live, overlays=overlays)


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


def _copy_overlays(tx: Tx, fork: SessionRow, source: SessionRow, pos: int, base: int) -> int:
    overlays = _overlays_on_path(tx, source, pos)
    keys = ("id", "first", "last", "tokens", "covered_tokens", "created_by", "created_at")
    for row in overlays:
        copy = dict(zip((*keys, "metadata", "summary"), row[1:], strict=True))
        copy["first"] = base | (copy["first"] & MAX_DEPTH)
        copy["last"] = base | (copy["last"] & MAX_DEPTH)
        number = tx.add("overlay", tree=fork.tree, **copy)
        put_in_force(tx, fork.number, copy["first"], copy["last"], number)
    return len(overlays)


def _documents(t: Tables) -> Any:
    d = t.document.c
    return (
        select(d.key, d.updated_at, d.value)
        .where(
            d.owner == bindparam("owner"),
            d.session == bindparam("session"),
            d.expires_at.is_(None),
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


def _overlays(t: Tables) -> Any:
    o, f = t.overlay.c, t.in_force.c
    return (
        select(*overlay_columns(t))
        .select_from(t.in_force.join(t.overlay, o.number == f.overlay))
        .where(f.session == bindparam("session"))
        .order_by(o.number)
    )


def _messages(t: Tables) -> Any:
    m = t.message.c
    return (
        select(*(m[key] for key in _COPIED))
        .where(m.tree == bindparam("tree"), m.pos.between(bindparam("low"), bindparam("high")))
        .order_by(m.pos)
    )

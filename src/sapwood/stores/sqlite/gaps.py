"""The empty positions that deleted messages left on a path."""

from __future__ import annotations

from ...model import Gap
from ...rules.tree import spans_after
from ..relational.position import bounds, public, unpack_place
from .connection import Connection
from .lookup import get_pos, get_session

_GAPS = (
    "SELECT m.pos, m.id, s.id FROM message m LEFT JOIN session s ON s.home = m.home"
    " WHERE m.pos BETWEEN ? AND ? AND m.body IS NULL ORDER BY m.pos"
)


def gaps(tx: Connection, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
    """List them, from the root down."""
    row = get_session(tx, owner, session)
    spans = spans_after(after, unpack_place(get_pos(tx, row, leaf)), tx.lineage)
    return [
        Gap(id=id, position=public(pos), home=home)
        for span in spans
        for pos, id, home in tx.rows(_GAPS, bounds(span))
    ]

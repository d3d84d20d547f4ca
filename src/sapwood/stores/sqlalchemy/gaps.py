"""The empty positions that deleted messages left on a path."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, select

from ...model import Gap
from ...rules.tree import spans_after
from ..relational.position import bounds, public, unpack_place
from .lookup import get_pos, get_session
from .tables import Tables
from .tx import Tx


def gaps(tx: Tx, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
    """List them, from the root down."""
    row = get_session(tx, owner, session)
    found: list[Gap] = []
    for span in spans_after(after, unpack_place(get_pos(tx, row, leaf)), tx.lineage):
        low, high = bounds(span)
        found += [
            Gap(id=id, position=public(pos), home=tx.home_name(home))
            for pos, home, id in tx.rows(_gaps, tree=row.tree, low=low, high=high)
        ]
    return found


def _gaps(t: Tables) -> Any:
    m = t.message.c
    return (
        select(m.pos, m.home, m.id)
        .where(
            m.tree == bindparam("tree"),
            m.pos.between(bindparam("low"), bindparam("high")),
            m.body.is_(None),
        )
        .order_by(m.pos)
    )

"""Where a session stands: its tip, and the figures that move with it.

They are kept as differences to the tip's own, so that an append to the end of a segment leaves
the session's row alone. The view `standing` gives the sums.
"""

from __future__ import annotations

from .connection import Connection
from .lookup import SessionRow
from .position import MAX_DEPTH
from .sums import path_tokens

_PUT = (
    "UPDATE session SET tree = ?, tip = ?, grows = ?, fork = ?, lead = ?, apart = ?, overlays = ?,"
    " edited = ?, active_at = ?, active_s = ? WHERE number = ?"
)


def put_standing(tx: Connection, row: SessionRow, *, grows: bool = False) -> None:
    """Let a session stand where its row says; `grows` when that is the end of its own segment."""
    lead = None if row.context is None else row.context - path_tokens(tx, row.tip)
    apart = row.messages - (row.tip & MAX_DEPTH)
    place = (row.tree, row.tip, int(grows), row.fork, lead, apart)
    second = row.active_at // 1_000_000
    tx.run(_PUT, (*place, row.overlays, row.edited, row.active_at, second, row.number))

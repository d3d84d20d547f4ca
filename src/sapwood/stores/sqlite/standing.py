"""Where a session stands: its tip, and the figures that move with it.

They are kept as differences to the tip's own, so that an append to the end of a segment leaves
the session's row alone. The view `standing` gives the sums.
"""

from __future__ import annotations

from ..relational.position import MAX_DEPTH
from ..relational.rows import SessionRow
from .connection import Connection
from .lookup import SESSION_COLUMNS
from .sums import path_tokens, renew_context

_PUT = (
    "UPDATE session SET tree = ?, tip = ?, grows = ?, fork = ?, lead = ?, apart = ?, overlays = ?,"
    " edited = ?, has_data = ?, active_at = ?, active_s = ?, updated_at = coalesce(?,"
    " (SELECT updated_at FROM standing n WHERE n.number = session.number)) WHERE number = ?"
)
_OTHERS = (
    f"SELECT {SESSION_COLUMNS} FROM standing s WHERE s.number <> ? AND s.context IS NOT NULL AND"
)
_IN_TREE = f"{_OTHERS} s.tree = ?"
_BEGUN_AT = f"{_OTHERS} s.fork = ? AND s.fork > 0"
_UNKNOWN = f"SELECT {SESSION_COLUMNS} FROM standing s WHERE s.tree = ? AND s.context IS NULL"


def put_standing(
    tx: Connection, row: SessionRow, *, grows: bool = False, updated_at: int | None = None
) -> None:
    """Let a session stand where its row says; `grows` when that is the end of its own segment.

    Without a time, that at which it was last written stays.
    """
    lead = None if row.context is None else row.context - path_tokens(tx, row.tip)
    apart = row.messages - (row.tip & MAX_DEPTH)
    place = (row.tree, row.tip, int(grows), row.fork, lead, apart)
    times = (row.active_at, row.active_at // 1_000_000, updated_at)
    tx.run(_PUT, (*place, row.overlays, row.edited, row.has_data, *times, row.number))


def leave_to_sum(tx: Connection, row: SessionRow, pos: int, is_followed: bool) -> None:
    """Let others that may show a changed message work out their sums: when asked, or appended to.

    None of them `grows` then, so that the next append looks. What nothing follows is only seen by
    forks that begin there.
    """
    sql, place = (_IN_TREE, row.tree) if is_followed else (_BEGUN_AT, pos)
    others = tx.rows(sql, (row.number, place))
    for other in others:
        put_standing(tx, SessionRow._make(other)._replace(context=None))
    if others:
        tx.run("INSERT OR IGNORE INTO stale VALUES (?)", (row.tree,))


def renew_stale(tx: Connection) -> bool:
    """Work out the sums that were left to be in one tree; return whether there was one."""
    tree = tx.value("SELECT tree FROM stale LIMIT 1")
    if tree is None:
        return False
    for row in tx.rows(_UNKNOWN, (tree,)):
        renew_context(tx, SessionRow._make(row))
    tx.run("DELETE FROM stale WHERE tree = ?", (tree,))
    return True

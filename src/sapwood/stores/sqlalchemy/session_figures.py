"""The queries behind the figures of sessions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, func, select

from .rows import session_columns
from .tables import Tables


def all_sessions(t: Tables) -> Any:
    """Return the query of all sessions."""
    return select(*session_columns(t)).order_by(t.session.c.number)


def count_live(t: Tables) -> Any:
    """Return the query that counts a home's live messages."""
    m = t.message.c
    return select(func.count()).where(
        m.tree == bindparam("tree"), m.home == bindparam("home"), m.body.is_not(None)
    )


def count_in_force(t: Tables) -> Any:
    """Return the query that counts a session's overlays."""
    return select(func.count()).where(t.in_force.c.session == bindparam("session"))


def running_at(t: Tables) -> Any:
    """Return the query of the running sum at a position."""
    m = t.message.c
    return select(m.path_tokens).where(m.tree == bindparam("tree"), m.pos == bindparam("pos"))

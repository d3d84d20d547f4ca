"""The queries by which ranges of a path are read."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, func, select

from .direct import number
from .rows import message_columns
from .tables import Tables

NO_LIMIT = 2**40


def latest_edit(t: Tables) -> Any:
    """Return the number of the newest edit of a tree, which dates a snapshot."""
    return select(newest_edit(t)).where(t.edit.c.tree == bindparam("tree"))


def newest_edit(t: Tables) -> Any:
    """Return the largest number of edits, so that no database looks for it through all trees'."""
    return func.max(t.edit.c.seq + number(0))


def _between(t: Tables) -> Any:
    m = t.message
    return select(*message_columns(m)).where(
        m.c.tree == bindparam("tree"),
        m.c.pos.between(bindparam("low"), bindparam("high")),
        m.c.body.is_not(None),
    )


def positions_in(t: Tables) -> Any:
    """Return the query of a range's positions, and whether each is live."""
    m = t.message.c
    between = m.pos.between(bindparam("low"), bindparam("high"))
    return select(m.pos, m.body.is_not(None)).where(m.tree == bindparam("tree"), between)


def from_the_beginning(t: Tables) -> Any:
    """Return the query of a range's live messages, from its first on."""
    return _between(t).order_by(t.message.c.pos).limit(bindparam("most"))


def from_the_end(t: Tables) -> Any:
    """Return the query of a range's live messages, from its last back."""
    return _between(t).order_by(t.message.c.pos.desc()).limit(bindparam("most"))

"""The search for sessions that listings do not find by what their records say, and its repair."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import Problem
from ...relational.listed import FoundBy, ListedRow, stray_tag
from ...relational.rows import Row
from .tx import AsyncTx

_LISTED = (
    "SELECT s.tree, s.number, s.owner, s.id, s.state, p.title_key, p.system_key,"
    " ARRAY(SELECT g.tag FROM {s}.tag g WHERE g.owner = s.owner AND g.tag = ANY (p.tags)"
    " AND g.session = s.number), p.state, p.title, p.system, p.tags"
    " FROM {s}.session s JOIN {s}.profile p ON p.tree = s.tree AND p.session = s.number"
)
_IS_STRAY = (
    "NOT EXISTS (SELECT 1 FROM {s}.session s"
    " JOIN {s}.profile p ON p.tree = s.tree AND p.session = s.number"
    " WHERE s.number = g.session AND s.owner = g.owner AND g.tag = ANY (p.tags))"
)
_STRAYS = (
    "SELECT coalesce((SELECT s.id FROM {s}.session s WHERE s.number = g.session"
    f" AND s.owner = g.owner), g.session::text) FROM {{s}}.tag g WHERE {_IS_STRAY}"
)
_PUT_STATE = "UPDATE {s}.session SET state = %s WHERE tree = %s AND number = %s"
_PUT_KEYS = (
    "UPDATE {s}.profile SET title_key = %s, system_key = %s WHERE tree = %s AND session = %s"
)
_ADD_TAGS = "INSERT INTO {s}.tag SELECT %s, t.tag, %s FROM unnest(%s::text[]) t(tag)"


async def listing_problems(tx: AsyncTx) -> list[Problem]:
    """Look for sessions that are not found by what their records say, or by more than that."""
    rows = await tx.rows(f"{_LISTED} ORDER BY s.number")
    problems = [it for row in rows for it in _listed(row).problems()]
    return problems + [stray_tag(session) for (session,) in await tx.rows(_STRAYS)]


async def rebuild_listing(tx: AsyncTx, trees: Sequence[int]) -> None:
    """Let each session of some trees be found by what its record says."""
    for found in await tx.rows(f"{_LISTED} WHERE s.tree = ANY (%s)", (list(trees),)):
        row = _listed(found)
        right = row.mended()
        if right is not None:
            place = (row.tree, row.number)
            await tx.run(_PUT_STATE, (right.state, *place))
            await tx.run(_PUT_KEYS, (right.title_key, right.system_key, *place))
            missing = sorted(right.tags - row.kept.tags)
            await tx.run(_ADD_TAGS, (row.owner, row.number, missing))


async def delete_stray_tags(tx: AsyncTx) -> None:
    """Let no session be found by a tag that it does not have."""
    await tx.run(f"DELETE FROM {{s}}.tag g WHERE {_IS_STRAY}")


def _listed(row: Row) -> ListedRow:
    tree, number, owner, id, *columns, tags, state, title, system, own = row
    kept = FoundBy._make((*columns, frozenset(tags)))
    return ListedRow(tree, number, owner, id, kept, state, title, system, own)

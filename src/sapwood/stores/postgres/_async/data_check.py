"""The search for damage of data at positions, and its repair."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import StoreCorruptError
from ....model import Problem
from ....rules.codec import decode_json
from ...relational.problems import data_problem, lost_mark, segment_problem
from .tx import AsyncTx

# A mark whose data is gone.
_IS_LOST = (
    "l.body IS NULL AND l.role = 'mark'"
    " AND NOT EXISTS (SELECT 1 FROM {s}.data k WHERE k.tree = l.tree AND k.pos = l.pos)"
)
_LOST = f"SELECT l.pos FROM {{s}}.message l WHERE {_IS_LOST} ORDER BY l.tree, l.pos"
# What leads to a version that is lost is not led to another one.
_LEADS_THERE = f"EXISTS (SELECT 1 FROM {{s}}.message l WHERE {_IS_LOST} AND l.tree = "
_IS_WRONG = (
    "d.previous <> {s}.data_at(d.tree, {s}.parent_of(d.tree, d.pos))"
    f" AND NOT {_LEADS_THERE} d.tree AND l.pos = d.previous)"
)
_IS_WRONG_SEGMENT = (
    "g.data_at <> {s}.data_at(g.tree, g.parent)"
    f" AND NOT {_LEADS_THERE} g.tree AND l.pos = g.data_at)"
)
_VALUES = (
    "SELECT tree, pos, value FROM {s}.data WHERE (tree, pos) > (%s, %s)"
    " ORDER BY tree, pos LIMIT 500"
)
_WRONG = (
    "SELECT d.pos, m.pos IS NULL FROM {s}.data d"
    " LEFT JOIN {s}.message m ON m.tree = d.tree AND m.pos = d.pos"
    f" WHERE m.pos IS NULL OR {_IS_WRONG} ORDER BY d.tree, d.pos"
)
_WRONG_SEGMENTS = f"SELECT g.number FROM {{s}}.segment g WHERE {_IS_WRONG_SEGMENT}"
_NEXT_SEGMENT = (
    "SELECT g.tree, g.number FROM {s}.segment g WHERE g.tree = ANY (%s)"
    f" AND {_IS_WRONG_SEGMENT} ORDER BY g.number LIMIT 1"
)
_MEND_SEGMENT = (
    "UPDATE {s}.segment SET data_at = {s}.data_at(tree, parent) WHERE tree = %s AND number = %s"
)
_MEND = (
    "UPDATE {s}.data d SET previous = {s}.data_at(d.tree, {s}.parent_of(d.tree, d.pos))"
    f" WHERE d.tree = ANY (%s) AND {_IS_WRONG} AND EXISTS"
    " (SELECT 1 FROM {s}.message m WHERE m.tree = d.tree AND m.pos = d.pos)"
)


async def data_problems(tx: AsyncTx) -> list[Problem]:
    """Look for versions that cannot be read, or are not where they are looked for."""
    problems = await _unreadable(tx)
    problems += [lost_mark(pos) for (pos,) in await tx.rows(_LOST)]
    for pos, is_gone in await tx.rows(_WRONG):
        what = "its position is missing" if is_gone else "the version before it is another one"
        problems.append(data_problem(pos, what))
    for (number,) in await tx.rows(_WRONG_SEGMENTS):
        problems.append(segment_problem(number, "its data is another one"))
    return problems


async def _unreadable(tx: AsyncTx) -> list[Problem]:
    problems: list[Problem] = []
    place = (0, 0)
    while rows := await tx.rows(_VALUES, place):
        for _, pos, value in rows:
            try:
                decode_json(value, "the data")
            except StoreCorruptError as error:
                problems.append(data_problem(pos, str(error)))
        place = rows[-1][:2]
    return problems


async def rebuild_data(tx: AsyncTx, trees: Sequence[int]) -> None:
    """Rebuild where the data stands that segments and versions go on from, from the root down."""
    while rows := await tx.rows(_NEXT_SEGMENT, (list(trees),)):
        await tx.run(_MEND_SEGMENT, rows[0])
    await tx.run(_MEND, (list(trees),))

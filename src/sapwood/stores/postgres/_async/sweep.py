"""Statements about what deletions leave to be done."""

from __future__ import annotations

from ...relational._async.sweep import AsyncSweepStatements
from ...relational.position import DEPTH_BITS, whole_segment
from ...relational.rows import SessionRow
from .tx import AsyncTx

CHUNKS_AT_ONCE = 4
"""How many chunks a deletion sweeps itself; the rest is for `finish_deletions`, or the next."""

_ADD_ALL = (
    "INSERT INTO {s}.sweep SELECT tree, number FROM {s}.segment WHERE tree = %s AND home = %s"
    " ON CONFLICT DO NOTHING"
)
_ADD = "INSERT INTO {s}.sweep VALUES (%s, %s) ON CONFLICT DO NOTHING"
_OUT_OF_FORCE = "DELETE FROM {s}.in_force WHERE tree = %s AND session = %s RETURNING overlay"
_DROP_UNUSED = "SELECT {s}.drop_unused(%s, %s::bigint[])"
_FORGET_HOMES = "DELETE FROM {s}.inherited WHERE tree = %s AND session = %s"
_RETIRED = (
    "INSERT INTO {s}.change (owner, session, tree, kind, first, last, at, name)"
    " VALUES (%s, %s, %s, 4, %s, %s, %s, %s)"
)
_STAND = (
    "SELECT greatest(%(first)s, (SELECT max(parent) FROM {s}.segment WHERE tree = %(tree)s"
    " AND parent BETWEEN %(first)s AND %(last)s), (SELECT max(fork) FROM {s}.session"
    " WHERE tree = %(tree)s AND fork > 0 AND fork BETWEEN %(first)s AND %(last)s))"
    " FROM {s}.segment g WHERE g.tree = %(tree)s AND g.number = %(segment)s"
    " AND NOT EXISTS (SELECT 1 FROM {s}.session s WHERE s.tree = g.tree AND s.home = g.home)"
)
_CUT = (
    "WITH gone AS (DELETE FROM {s}.message WHERE tree = %(tree)s AND pos IN"
    " (SELECT pos FROM {s}.message WHERE tree = %(tree)s AND pos > %(kept)s AND pos <= %(last)s"
    " ORDER BY pos DESC LIMIT %(most)s) RETURNING pos),"
    " unedited AS (DELETE FROM {s}.edit WHERE tree = %(tree)s AND pos IN (SELECT pos FROM gone)),"
    " bare AS (DELETE FROM {s}.data WHERE tree = %(tree)s AND pos IN (SELECT pos FROM gone))"
    " SELECT count(*) FROM gone"
)
_DELETE = "DELETE FROM {s}.segment WHERE tree = %s AND number = %s RETURNING parent"


class AsyncPostgresSweepStatements(AsyncSweepStatements[AsyncTx]):
    """Statements about what deletions leave to be done."""

    rows_at_once = 500

    async def retire(self, session: SessionRow) -> None:
        tx, place = self._tx, (session.tree, session.number)
        await tx.run(_ADD_ALL, (session.tree, session.home))
        await self._add(session.tree, session.fork)
        overlays = [number for (number,) in await tx.rows(_OUT_OF_FORCE, place)]
        await tx.run(_DROP_UNUSED, (session.tree, overlays))
        await tx.run(_FORGET_HOMES, place)
        who = (session.owner, session.number, session.tree)
        at = (session.version, session.version, await tx.now())
        await tx.run(_RETIRED, (*who, *at, session.id))
        tx.left_to_sweep = True

    async def lock_next(self) -> tuple[int, int | None] | None:
        tree = await self._tx.value("SELECT tree FROM {s}.sweep LIMIT 1")
        if tree is None:
            return None
        await self._tx.run("SELECT {s}.lock_tree(%s)", (tree,))
        text = "SELECT max(segment) FROM {s}.sweep WHERE tree = %s"
        return tree, await self._tx.value(text, (tree,))

    async def deepest_stand(self, tree: int, segment: int) -> int | None:
        first, last = whole_segment(segment)
        args = {"tree": tree, "segment": segment, "first": first, "last": last}
        found: int | None = await self._tx.value(_STAND, args)
        return found

    async def cut(self, tree: int, kept: int, last: int) -> int:
        args = {"tree": tree, "kept": kept, "last": last, "most": self.rows_at_once}
        return int(await self._tx.value(_CUT, args))

    async def _add(self, tree: int, stood_on: int) -> None:
        if stood_on:
            await self._tx.run(_ADD, (tree, stood_on >> DEPTH_BITS))

    async def take_off(self, tree: int, segment: int, *, is_empty: bool) -> None:
        if is_empty:
            await self._add(tree, await self._tx.value(_DELETE, (tree, segment)))
        text = "DELETE FROM {s}.sweep WHERE tree = %s AND segment = %s"
        await self._tx.run(text, (tree, segment))

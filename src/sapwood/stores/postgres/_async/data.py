"""Statements about data at positions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ....errors import StoreCorruptError
from ....rules.tree import Span
from ...relational._async.data import AsyncDataStatements
from ...relational.position import bounds, public
from ...relational.rows import Row, SessionRow
from .tx import AsyncTx

_IS_SEEN = (
    "SELECT m.home = %(home)s OR {s}.is_on_path(m.tree, m.pos, %(fork)s) FROM {s}.message m"
    " WHERE m.tree = %(tree)s AND m.pos = %(pos)s"
)
_AT = "SELECT u.pos, {s}.data_at(%s, u.pos) FROM unnest(%s::bigint[]) u(pos)"
_MARKS = (
    "SELECT pos FROM {s}.message WHERE tree = %s AND pos = ANY (%s::bigint[])"
    " AND body IS NULL AND role = 'mark'"
)
_PARENT = "SELECT {s}.parent_of(%s, %s)"
_CHAIN = (
    "WITH RECURSIVE c (pos, previous, value, n) AS ("
    "SELECT d.pos, d.previous, d.value, 1 FROM {s}.data d"
    " WHERE d.tree = %(tree)s AND d.pos = %(pos)s"
    " UNION ALL SELECT d.pos, d.previous, d.value, c.n + 1 FROM c JOIN {s}.data d"
    " ON d.tree = %(tree)s AND d.pos = c.previous WHERE c.n < %(most)s)"
    " SELECT c.pos, c.previous, c.value, m.id, m.created_at FROM c LEFT JOIN {s}.message m"
    " ON m.tree = %(tree)s AND m.pos = c.pos ORDER BY c.n"
)
_VALUES = "SELECT pos, value FROM {s}.data WHERE tree = %s AND pos = ANY (%s::bigint[])"
_IN_SPAN = (
    "SELECT d.pos, d.previous, d.value, m.id, m.created_at FROM {s}.data d"
    " LEFT JOIN {s}.message m ON m.tree = d.tree AND m.pos = d.pos"
    " WHERE d.tree = %s AND d.pos BETWEEN %s AND %s ORDER BY d.pos LIMIT %s"
)
_PUT = "INSERT INTO {s}.data (tree, pos, previous, value) VALUES (%s, %s, %s, %s)"
_ALL_SEEN = (
    "SELECT d.pos, d.value FROM {s}.segment g JOIN {s}.data d ON d.tree = g.tree"
    " AND d.pos BETWEEN g.number << 24 AND g.number << 24 | 16777215"
    " WHERE g.tree = %(tree)s AND g.home = %(home)s"
    " UNION ALL SELECT d.pos, d.value FROM {s}.visible(%(tree)s, NULL, %(fork)s) v"
    " JOIN {s}.data d ON d.tree = %(tree)s AND d.pos BETWEEN v.first AND v.last"
)
_REWRITE = (
    "UPDATE {s}.data d SET value = u.value FROM unnest(%s::bigint[], %s::bytea[]) u(pos, value)"
    " WHERE d.tree = %s AND d.pos = u.pos"
)
_COPY = (
    "INSERT INTO {s}.data (tree, pos, previous, value)"
    " SELECT %(tree)s, %(base)s | (d.pos & 16777215),"
    " CASE WHEN d.previous > 0 THEN %(base)s | (d.previous & 16777215) ELSE 0 END, d.value"
    " FROM {s}.visible(%(from)s, NULL, %(leaf)s) v"
    " JOIN {s}.data d ON d.tree = %(from)s AND d.pos BETWEEN v.first AND v.last"
)


class AsyncPostgresDataStatements(AsyncDataStatements[AsyncTx]):
    """Statements about data at positions."""

    async def is_seen(self, session: SessionRow, pos: int) -> bool:
        place = {"tree": session.tree, "home": session.home, "fork": session.fork}
        return bool(await self._tx.value(_IS_SEEN, {**place, "pos": pos}))

    async def at(self, session: SessionRow, positions: Collection[int]) -> dict[int, int]:
        return dict(await self._tx.rows(_AT, (session.tree, list(positions))))

    async def marks(self, session: SessionRow, positions: Collection[int]) -> set[int]:
        rows = await self._tx.rows(_MARKS, (session.tree, list(positions)))
        return {pos for (pos,) in rows}

    async def parent(self, session: SessionRow, pos: int) -> int:
        return int(await self._tx.value(_PARENT, (session.tree, pos)))

    async def chain(self, session: SessionRow, pos: int, most: int) -> list[Row]:
        rows = await self._tx.rows(_CHAIN, {"tree": session.tree, "pos": pos, "most": most})
        if len(rows) < most and (not rows or rows[-1][1]):
            at = public(rows[-1][1] if rows else pos)
            raise StoreCorruptError(f"the data at position {at.segment}.{at.depth} is missing")
        return rows

    async def in_span(self, session: SessionRow, span: Span, most: int) -> list[Row]:
        return await self._tx.rows(_IN_SPAN, (session.tree, *bounds(span), most))

    async def values(self, session: SessionRow, positions: Collection[int]) -> dict[int, bytes]:
        return dict(await self._tx.rows(_VALUES, (session.tree, list(positions))))

    async def put(self, session: SessionRow, pos: int, previous: int, value: bytes) -> None:
        await self._tx.run(_PUT, (session.tree, pos, previous, value))

    async def all_seen(self, session: SessionRow) -> list[tuple[int, bytes]]:
        place = {"tree": session.tree, "home": session.home, "fork": session.fork}
        return await self._tx.rows(_ALL_SEEN, place)

    async def rewrite(self, session: SessionRow, values: Sequence[tuple[int, bytes]]) -> None:
        lists = ([pos for pos, _ in values], [value for _, value in values])
        await self._tx.run(_REWRITE, (*lists, session.tree))


async def copy_data(
    tx: AsyncTx, fork: SessionRow, base: int, source: SessionRow, leaf: int
) -> None:
    """Copy the versions on a path into a segment, in which every depth stays."""
    args = {"tree": fork.tree, "base": base, "from": source.tree, "leaf": leaf}
    await tx.run(_COPY, args)

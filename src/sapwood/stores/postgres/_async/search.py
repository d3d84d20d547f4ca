"""Searching: the index finds candidates, the newest first, and the texts themselves decide."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ....model import Hits, Search
from ....rules.query import Query
from ...base.hit_block import HitOrder
from ...relational._async.dialect import AsyncDialect
from ...relational._async.lookup import get_session
from ...relational.ranking import Ranking
from ...relational.rows import SessionRow
from ..words import question
from .tx import AsyncTx

MOST_IN_A_BATCH = 1_000

_CANDIDATES = """
WITH c AS (
    SELECT u.* FROM (
        SELECT m.created_at, 1 AS kind, m.tree, m.pos AS key FROM {s}.message m
        WHERE m.words @@ %(messages)s::tsquery
        UNION ALL
        SELECT o.created_at, 0, o.tree, o.number FROM {s}.overlay o
        WHERE o.words @@ %(summaries)s::tsquery
    ) u
    WHERE (u.created_at, u.kind, u.tree, u.key) < (%(at)s, %(kind)s, %(tree)s, %(key)s)
    ORDER BY u.created_at DESC, u.kind DESC, u.tree DESC, u.key DESC LIMIT %(most)s
)
SELECT c.created_at, c.kind, c.tree, c.key, coalesce(m.id, o.id), m.role,
    coalesce(m.pos, o.last), coalesce(m.body, o.summary), s.id, p.title, p.tags
FROM c
LEFT JOIN LATERAL (
    SELECT m.* FROM {s}.message m WHERE c.kind = 1 AND m.tree = c.tree AND m.pos = c.key OFFSET 0
) m ON true
LEFT JOIN {s}.overlay o ON c.kind = 0 AND o.tree = c.tree AND o.number = c.key
LEFT JOIN {s}.session s ON s.tree = c.tree AND s.number = {s}.told_as(
    c.kind = 0, c.tree, c.key, m.home, %(owner)s, %(of_kind)s::text, %(session)s::bigint,
    %(session_tree)s::bigint, %(home)s::bigint, %(fork)s::bigint)
LEFT JOIN {s}.profile p ON p.tree = s.tree AND p.session = s.number
ORDER BY c.created_at DESC, c.kind DESC, c.tree DESC, c.key DESC
"""
_BEGINNING = {"at": 2**63 - 1, "kind": 1, "tree": 2**63 - 1, "key": 2**63 - 1}


class AsyncPostgresSearch:
    """Work on searching."""

    def __init__(self, tx: AsyncTx, dialect: AsyncDialect) -> None:
        self._tx = tx
        self._dialect = dialect

    async def search(self, owner: str, search: Search, query: Query) -> Hits:
        """Find what matches a query."""
        row = None
        if search.session is not None:
            row = await get_session(self._dialect, owner, search.session)
        number = await self._dialect.lookup.find_owner(owner)
        if number is None:
            return Hits(hits=[], cursor=None)
        ranking = Ranking("postgres", owner, search, query)
        args = await self._asked(query, number, row)
        args["of_kind"] = search.kind if row is None else None
        async for batch in self._batches(args, ranking.below, ranking.most):
            for at, is_message, tree, key, id, role, pos, data, session, title, tags in batch:
                if session is not None:
                    order = at, is_message, tree, key
                    ranking.take(order, is_message, id, role, pos, at, data, session, title, tags)
            if ranking.is_enough:
                break
        return ranking.hits()

    async def _asked(self, query: Query, owner: int, row: SessionRow | None) -> dict[str, Any]:
        homes: list[int] = []
        if row is not None:
            inherited = await self._tx.rows(
                "SELECT home FROM {s}.inherited WHERE tree = %s AND session = %s",
                (row.tree, row.number),
            )
            homes = [row.home, *(home for (home,) in inherited)]
        return {
            "messages": question(query, owner, homes),
            "summaries": question(query, owner, []),
            "owner": owner,
            "session": row and row.number,
            "session_tree": row and row.tree,
            "home": row and row.home,
            "fork": row and row.fork,
        }

    async def _batches(
        self, args: dict[str, Any], below: HitOrder | None, size: int
    ) -> AsyncIterator[list[Any]]:
        place: dict[str, Any] = _BEGINNING
        if below is not None:
            place = dict(zip(_BEGINNING, below, strict=True))
        while True:
            rows = await self._tx.rows(_CANDIDATES, {**args, **place, "most": size})
            yield rows
            if len(rows) < size:
                return
            place = dict(zip(_BEGINNING, rows[-1], strict=False))
            size = min(4 * size, MOST_IN_A_BATCH)

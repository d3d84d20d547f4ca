"""The statement that finds the ends of sessions' paths: from each tip upwards, place by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....rules.recent import RECENT_MESSAGES, RECENT_PLACES, TOOL
from ....rules.tree import Place
from ...relational._async.recent import AsyncRecentStatements
from ...relational.position import DEPTH_BITS, MAX_DEPTH, place_of
from ...relational.rows import Row
from .tx import AsyncTx

# OFFSET 0 has each row sought by itself, whatever is known about the tables.
_RECENT = (
    "WITH RECURSIVE up (n, id, tree, number, step, pos) AS ("
    "SELECT u.n, u.id, s.tree, s.number, 1, s.tip FROM {s}.owner o"
    " CROSS JOIN unnest(%(sessions)s::text[]) WITH ORDINALITY u(id, n)"
    " CROSS JOIN LATERAL (SELECT d.tree, d.number FROM {s}.directory d"
    " WHERE d.owner = o.number AND d.id = u.id OFFSET 0) d"
    " CROSS JOIN LATERAL (SELECT s.tree, s.number, s.tip FROM {s}.session s"
    " WHERE s.tree = d.tree AND s.number = d.number OFFSET 0) s WHERE o.name = %(owner)s"
    " UNION ALL SELECT u.n, u.id, u.tree, u.number, u.step + 1,"
    f" CASE WHEN (u.pos & {MAX_DEPTH}) - 1 > (g.parent & {MAX_DEPTH})"
    " THEN u.pos - 1 ELSE g.parent END"
    " FROM up u CROSS JOIN LATERAL (SELECT g.parent FROM {s}.segment g"
    f" WHERE g.tree = u.tree AND g.number = u.pos >> {DEPTH_BITS} OFFSET 0) g"
    f" WHERE u.step < {RECENT_PLACES} AND u.pos & {MAX_DEPTH} > 1),"
    " place AS (SELECT u.*, m.home, m.message, m.role, m.tokens, m.version, m.created_at,"
    f" m.is_live, coalesce(m.is_live AND m.role <> '{TOOL}', false) AS is_said FROM up u"
    " LEFT JOIN LATERAL (SELECT m.home, m.id AS message, m.role, m.tokens, m.version,"
    " m.created_at, m.body IS NOT NULL AS is_live FROM {s}.message m"
    " WHERE m.tree = u.tree AND m.pos = u.pos OFFSET 0) m ON true),"
    " shown AS (SELECT *, is_said AND count(*) FILTER (WHERE is_said)"
    f" OVER (PARTITION BY n ORDER BY step) <= {RECENT_MESSAGES} AS is_shown FROM place)"
    " SELECT p.id, p.step, p.pos, CASE WHEN p.step = 1 THEN (SELECT g.lineage FROM {s}.segment g"
    f" WHERE g.tree = p.tree AND g.number = p.pos >> {DEPTH_BITS}) END, p.is_live, p.is_shown,"
    " CASE WHEN p.is_shown THEN"
    " (SELECT h.id FROM {s}.session h WHERE h.tree = p.tree AND h.home = p.home) END,"
    " p.pos, p.home, p.message, p.role, p.tokens, p.version, p.created_at,"
    " CASE WHEN p.is_shown THEN"
    " (SELECT m.body FROM {s}.message m WHERE m.tree = p.tree AND m.pos = p.pos) END,"
    " d.version, d.key, d.updated_at, d.expires_at, d.value, d.inherit, d.created_at"
    " FROM shown p LEFT JOIN LATERAL (SELECT * FROM {s}.document d WHERE p.step = 1"
    " AND d.tree = p.tree AND d.session = p.number AND d.key = %(key)s::text OFFSET 0) d ON true"
    " ORDER BY p.n, p.step"
)


class AsyncPostgresRecentStatements(AsyncRecentStatements[AsyncTx]):
    """Statements about the ends of paths."""

    async def rows(self, owner: str, sessions: Sequence[str], key: str | None) -> Sequence[Row]:
        args = {"owner": owner, "sessions": list(sessions), "key": key}
        return await self._tx.rows(_RECENT, args)

    def lineage_of(self, column: Any) -> list[Place]:
        return [place_of(pos) for pos in column]

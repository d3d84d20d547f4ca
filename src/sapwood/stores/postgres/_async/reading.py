"""Reading a path with one statement, as nearly every read is."""

from __future__ import annotations

from typing import Any

from ....model import ROOT, History, Read
from ...relational.position import MAX_DEPTH
from ..path import Path
from .tx import AsyncTx

_ENTRY = "kind, pos, last, home, id, role, tokens, version, created_at, body, metadata"
_PATH = f"SELECT {_ENTRY} FROM {{s}}.read_path(%s, %s, %s, %s, %s, %s, %s, %s, %s::bigint)"
# The same for the tip of a session without overlays whose path is one segment of its own: one
# range, which goes out as it is read. Any other session is left to the function.
_TIP = """
WITH s AS MATERIALIZED (
    SELECT x.tip, x.context, x.tree, x.id, t.id AS tip_id,
        (SELECT coalesce(max(e.seq), 0) FROM {s}.edit e WHERE e.tree = x.tree) AS snapshot,
        x.overlays = 0 AND x.context IS NOT NULL AND g.home = x.home
            AND g.lineage = '{}' AS is_plain
    FROM {s}.owner o JOIN {s}.directory d ON d.owner = o.number
    JOIN {s}.session x ON x.tree = d.tree AND x.number = d.number
    LEFT JOIN LATERAL (SELECT g.home, g.lineage FROM {s}.segment g
        WHERE g.tree = x.tree AND g.number = x.tip >> 24 OFFSET 0) g ON true
    LEFT JOIN LATERAL (SELECT m.id FROM {s}.message m
        WHERE m.tree = x.tree AND m.pos = x.tip OFFSET 0) t ON true
    WHERE o.name = %(owner)s AND d.id = %(session)s
)
SELECT 0 AS kind, s.tip AS pos, NULL::bigint AS last, NULL AS home, s.tip_id AS id,
    s.tip_id AS role, s.context AS tokens, s.snapshot AS version, NULL::bigint AS created_at,
    NULL::bytea AS body, NULL::bytea AS metadata
FROM s WHERE s.is_plain
UNION ALL
SELECT 1, m.pos, 0, s.id, m.id, m.role, m.tokens, m.version, m.created_at, m.body, NULL
FROM s CROSS JOIN LATERAL (
    SELECT * FROM {s}.message m
    WHERE m.tree = s.tree
        AND m.pos BETWEEN (s.tip >> 24 << 24) + %(after)s::bigint + 1
            AND least(s.tip, (s.tip >> 24 << 24) + %(before)s::bigint - 1)
    ORDER BY m.pos {order} LIMIT %(most)s::bigint
) m WHERE s.is_plain
UNION ALL
SELECT r.* FROM s CROSS JOIN LATERAL {s}.read_path(%(owner)s, %(session)s, NULL, false,
    %(overlays)s, %(after)s, %(before)s, %(backwards)s, %(most)s::bigint) r
WHERE s.is_plain IS NOT TRUE
"""
_TIP_FORWARDS = _TIP.replace("{order}", "")
_TIP_BACKWARDS = _TIP.replace("{order}", "DESC")


async def read_at_once(tx: AsyncTx, owner: str, session: str, query: Read) -> History | None:
    """Read a path with one statement; None when that is not enough to tell."""
    if query.max_bytes is not None:
        return None
    most = None if query.limit is None else query.limit + 1
    while True:
        rows = await _rows(tx, owner, session, query, most)
        if not rows or rows[0][0] < 0:
            return None
        found = Path(rows, query, most)
        if found.is_enough:
            return found.history(session)
        # Some of them were deleted, and do not count.
        assert most is not None
        most += found.deleted


async def _rows(
    tx: AsyncTx, owner: str, session: str, query: Read, most: int | None
) -> list[tuple[Any, ...]]:
    """Read a row about the path, and so many of its entries, deleted messages among them."""
    after = min(query.after, MAX_DEPTH)
    before = MAX_DEPTH + 1 if query.before is None else min(query.before, MAX_DEPTH + 1)
    leaf, backwards = query.leaf, query.backwards
    if leaf is None:
        text = _TIP_BACKWARDS if backwards else _TIP_FORWARDS
        args = {
            "owner": owner,
            "session": session,
            "overlays": query.overlays,
            "after": after,
            "before": before,
            "backwards": backwards,
            "most": most,
        }
        return await tx.call(text, args)
    named = (leaf if isinstance(leaf, str) else None, leaf is ROOT)
    window = (query.overlays, after, before, backwards, most)
    return await tx.call(_PATH, (owner, session, *named, *window))

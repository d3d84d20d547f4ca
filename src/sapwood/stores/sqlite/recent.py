"""The statement that finds the ends of sessions' paths: from each tip upwards, place by place."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...model import Message
from ...rules.recent import RECENT_MESSAGES, RECENT_PLACES, TOOL
from ..relational._sync.recent import RecentStatements
from ..relational.position import DEPTH_BITS, MAX_DEPTH
from ..relational.rows import HOME, Row
from .connection import Connection
from .rows import message_of

# A body's length is known without reading it; what stands behind the body is not.
_RECENT = (
    "WITH RECURSIVE up (n, id, number, owner, step, pos) AS ("
    "SELECT j.key, s.id, s.number, s.owner, 1, s.tip FROM json_each(?1) j CROSS JOIN standing s"
    " ON s.owner = (SELECT number FROM owner WHERE name = ?2) AND s.id = j.value"
    " UNION ALL SELECT u.n, u.id, u.number, u.owner, u.step + 1,"
    f" iif((u.pos & {MAX_DEPTH}) - 1 > (g.parent & {MAX_DEPTH}), u.pos - 1, g.parent)"
    f" FROM up u CROSS JOIN segment g ON g.number = u.pos >> {DEPTH_BITS}"
    f" WHERE u.step < {RECENT_PLACES} AND u.pos & {MAX_DEPTH} > 1),"
    " place AS (SELECT u.*, m.pos IS NOT NULL AS is_there, length(m.body) IS NOT NULL AS is_live,"
    f" length(m.body) IS NOT NULL AND m.role <> '{TOOL}' AS is_said"
    " FROM up u LEFT JOIN message m ON m.pos = u.pos),"
    f" shown AS (SELECT *, is_said AND sum(is_said) OVER (PARTITION BY n ORDER BY step)"
    f" <= {RECENT_MESSAGES} AS is_shown FROM place)"
    " SELECT p.id, p.step, p.pos,"
    " CASE WHEN p.step = 1 THEN"
    f" (SELECT lineage FROM segment WHERE number = p.pos >> {DEPTH_BITS}) END,"
    " iif(p.is_there, p.is_live, NULL), p.is_shown,"
    " CASE WHEN p.is_shown THEN (SELECT h.id FROM session h WHERE h.home = m.home) END,"
    " m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at,"
    " CASE WHEN p.is_shown THEN m.body END, CASE WHEN p.is_shown THEN m.checksum END,"
    " d.version, d.key, d.updated_at, d.expires_at, d.value, d.inherit, d.created_at, d.checksum"
    " FROM shown p LEFT JOIN message m ON m.pos = p.pos"
    " LEFT JOIN document d ON p.step = 1 AND d.owner = p.owner AND d.session = p.number"
    " AND d.key = ?3 ORDER BY p.n, p.step"
)


class SqliteRecentStatements(RecentStatements[Connection]):
    """Statements about the ends of paths."""

    message_columns = 9

    def rows(self, owner: str, sessions: Sequence[str], key: str | None) -> Sequence[Row]:
        found: Sequence[Row] = self._tx.rows(
            _RECENT, (msgspec.json.encode(sessions).decode(), owner, key)
        )
        return found

    def message_of(self, row: Row, home: str | None) -> Message:
        return message_of(self._tx, row, {row[HOME]: home})

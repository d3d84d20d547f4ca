"""Reading a path with one statement, as nearly every read is."""

from __future__ import annotations

from typing import Any

from ....model import ROOT, Entry, History, Message, Read, Summary
from ....rules.codec import decode_body
from ....rules.tree import refuse_missing
from ...relational.position import DEPTH_BITS, MAX_DEPTH
from ...relational.rows import overlay_of
from .tx import AsyncTx

_ENTRY = "kind, pos, last, home, id, role, tokens, version, created_at, body, metadata"
# A path that has data is read by itself.
_PATH = (
    f"SELECT {_ENTRY}, CASE WHEN kind = 0 THEN {{s}}.has_data(%s, %s) END AS has_data"
    " FROM {s}.read_path(%s, %s, %s, %s, %s, %s, %s, %s, %s::bigint)"
)
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
_TIP = f"""
SELECT {_ENTRY}, CASE WHEN kind = 0 THEN {{s}}.has_data(%(owner)s, %(session)s) END
    AS has_data
FROM ({_TIP}) r
"""
_TIP_FORWARDS = _TIP.replace("{order}", "")
_TIP_BACKWARDS = _TIP.replace("{order}", "DESC")
# The same with the sizes of bodies in their place, as numbers in text; summaries are given whole.
_SIZES = """
SELECT r.kind, r.pos, r.last, r.home, r.id, r.role, r.tokens, r.version, r.created_at,
    CASE WHEN r.kind = 2 THEN r.body ELSE convert_to(octet_length(r.body)::text, 'UTF8') END,
    r.metadata, r.has_data
FROM ({path}) r
"""
_SUMMARY = 2
_NOTHING_SAID = b'{"parts":[]}'


async def read_at_once(tx: AsyncTx, owner: str, session: str, query: Read) -> History | None:
    """Read a path with one statement; None when that is not enough to tell."""
    if query.max_bytes is not None:
        return None
    most = None if query.limit is None else query.limit + 1
    while True:
        rows = await _rows(tx, owner, session, query, most)
        if not rows or rows[0][0] < 0 or rows[0][-1]:
            return None
        found = _Path(rows, query, most)
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
        text = _asked(_TIP_BACKWARDS if backwards else _TIP_FORWARDS, query)
        args = {
            "owner": owner,
            "session": session,
            "overlays": query.overlays,
            "after": after,
            "before": before,
            "backwards": backwards,
            "most": most,
        }
        return await tx.rows(text, args, often=True)
    named = (leaf if isinstance(leaf, str) else None, leaf is ROOT)
    window = (query.overlays, after, before, backwards, most)
    place = (*(owner, session) * 2, *named)
    return await tx.rows(_asked(_PATH, query), (*place, *window), often=True)


def _asked(path: str, query: Read) -> str:
    """Return the statement that reads a path, or what of it is not in bodies."""
    return path if query.bodies else _SIZES.replace("{path}", path)


class _Path:
    """A row about a read, and those of its entries, of which at most so many were asked for."""

    def __init__(self, rows: list[tuple[Any, ...]], query: Read, most: int | None) -> None:
        self._about, self._rows = rows[0], rows[1:]
        self._query = query
        self._is_cut = len(self._rows) == most
        self._live = [row for row in self._rows if row[9] is not None]
        self._more = query.limit is not None and len(self._live) > query.limit
        self.deleted = len(self._rows) - len(self._live)

    @property
    def is_enough(self) -> bool:
        """Whether all is here that is to be shown."""
        return self._more or not self._is_cut

    def history(self, session: str) -> History:
        """Make a history of it; a message that is missing is `StoreCorruptError`."""
        self._refuse_missing(session)
        _, _, _, _, leaf, tip, context, snapshot, *_ = self._about
        shown = self._live[:-1] if self._more else self._live
        if self._query.backwards:
            shown.reverse()
        return History(
            entries=[_entry(*(row if self._query.bodies else _without_body(row))) for row in shown],
            leaf=leaf or ROOT,
            tip=tip or ROOT,
            context_tokens=context,
            more=self._more,
            bytes=sum(map(_size, shown) if self._query.bodies else map(_told_size, shown)),
            snapshot=str(snapshot),
        )

    def _refuse_missing(self, session: str) -> None:
        first, last = self._query.after + 1, self._about[1] & MAX_DEPTH
        if self._query.before is not None:
            last = min(last, self._query.before - 1)
        if self._is_cut:
            kind, pos, end = self._rows[-1][:3]
            if self._query.backwards:
                first = pos & MAX_DEPTH
            else:
                last = (end if kind == _SUMMARY else pos) & MAX_DEPTH
        if len(self._rows) < last - first + 1:
            refuse_missing(sorted(map(_depths, self._rows)), first, last, session)


def _size(row: tuple[Any, ...]) -> int:
    return len(row[9])


def _told_size(row: tuple[Any, ...]) -> int:
    """Return the size of an entry whose body was not read, unless it is a summary."""
    return _size(row) if row[0] == _SUMMARY else int(row[9])


def _without_body(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row if row[0] == _SUMMARY else (*row[:9], _NOTHING_SAID, *row[10:])


def _depths(row: tuple[Any, ...]) -> tuple[int, int]:
    """Return the first and the last depth that an entry stands for."""
    kind, pos, last = row[:3]
    return pos & MAX_DEPTH, (last if kind == _SUMMARY else pos) & MAX_DEPTH


def _entry(
    kind: int,
    pos: int,
    last: int,
    home: str | None,
    id: str,
    role: str,
    tokens: int,
    version: int,
    created_at: int,
    body: bytes,
    metadata: bytes,
    _: None,
) -> Entry:
    if kind == _SUMMARY:
        row = (0, id, pos, last, tokens, version, home, created_at, metadata, body)
        return Summary(overlay=overlay_of(row))
    said = decode_body(body, id)
    return Message(
        id=id,
        role=role,
        parts=said.parts,
        metadata=said.metadata,
        extra=said.extra,
        name=said.name,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & MAX_DEPTH,
        home=home,
        tokens=tokens,
        version=version,
        created_us=created_at,
    )

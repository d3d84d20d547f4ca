"""Reading a path as it is shown: ranges on the primary key, in one snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ....model import ROOT, Entry, History, Message, Read, Summary
from ....rules.missing import gone_over, refuse_missing
from ....rules.overlay import Cover, clip
from ....rules.tree import Span
from ...relational.position import MAX_DEPTH, bounds, pack_place, place_of, span_of
from ...relational.rows import HomeNames, SessionRow, overlay_of
from ..path import Path
from ..rows import OVERLAY_COLUMNS
from .lookup import get_pos, get_session, id_at, messages_of, rows_at
from .sums import context_at, find_pins, visible
from .tx import AsyncTx

_RANGES = (
    "SELECT pos, home, id, role, tokens, version, created_at, body"
    " FROM {s}.in_ranges(%s, %s::bigint[], %s::bigint[], %s, %s::bigint)"
)
_DEPTHS = (
    "SELECT m.pos & 16777215 FROM unnest(%s::bigint[], %s::bigint[]) u(first, last)"
    " JOIN {s}.message m ON m.tree = %s AND m.pos BETWEEN u.first AND u.last"
)
_OVERLAYS = (
    f"SELECT {OVERLAY_COLUMNS} FROM {{s}}.overlay o WHERE o.tree = %s AND o.number = ANY (%s)"
)
_PINS_UNDER = "SELECT {s}.pins_under(%s, %s::bigint[], %s, %s)"
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
_FIRST_PAGE = 16
_MOST_IN_A_PAGE = 256

Spans = list[tuple[int, int]]


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


async def read(tx: AsyncTx, owner: str, session: str, query: Read) -> History:
    """Read a path as the contract says."""
    row = await get_session(tx, owner, session)
    leaf = row.tip if query.leaf is None else await get_pos(tx, row, query.leaf)
    shown = row if query.overlays else row._replace(overlays=0)
    window = _Window(tx, shown, query)
    await window.fill(await visible(tx, shown, leaf))
    context = row.context if leaf == row.tip else None
    return History(
        entries=window.entries,
        leaf=await id_at(tx, row.tree, leaf),
        tip=await id_at(tx, row.tree, row.tip),
        context_tokens=await context_at(tx, row, leaf) if context is None else context,
        more=window.more,
        bytes=window.bytes,
        snapshot=str(await latest_edit(tx, row.tree)),
    )


async def latest_edit(tx: AsyncTx, tree: int) -> int:
    """Give the number of a tree's newest edit, which dates a snapshot."""
    return await tx.value("SELECT max(seq) FROM {s}.edit WHERE tree = %s", (tree,)) or 0


class _Window:
    """The entries of a read, taken from one end until a limit is met."""

    def __init__(self, tx: AsyncTx, session: SessionRow, query: Read) -> None:
        self._tx = tx
        self._session = session
        self._query = query
        self._names: HomeNames = {session.home: session.id}
        self._overlays: dict[int, Any] = {}
        self._pins: list[int] = []
        self.entries: list[Entry] = []
        self.bytes = 0
        self.more = False

    async def fill(self, shown: list[Span | Cover]) -> None:
        """Take entries; what is shown comes from the leaf upwards."""
        await self._prepare([item for item in shown if isinstance(item, Cover)])
        backwards = self._query.backwards
        spans: Spans = []
        for item in shown if backwards else reversed(shown):
            if isinstance(item, Span):
                clipped = clip(item, self._query.after, self._query.before)
                spans += [bounds(clipped)] if clipped else []
                continue
            await self._take_spans(spans)
            spans = []
            if not self.more:
                await self._take_cover(item)
            if self.more:
                break
        await self._take_spans(spans)
        if backwards:
            self.entries.reverse()

    async def _prepare(self, covers: list[Cover]) -> None:
        """Look up the overlays that are shown, and the pins."""
        if not covers:
            return
        numbers = [cover.number for cover in covers]
        rows = await self._tx.rows(_OVERLAYS, (self._session.tree, numbers))
        self._overlays = {row[0]: row for row in rows}
        self._pins = await find_pins(self._tx, self._session, strict=True)

    async def _take_spans(self, spans: Spans) -> None:
        if self.more or not spans:
            return
        if self._query.max_bytes is not None:
            await self._take_in_pages(spans)
            return
        limit = self._query.limit
        room = None if limit is None else limit - len(self.entries) + 1
        rows = await self._ranges(spans, room)
        self.more = len(rows) == room
        taken = rows[:-1] if self.more else rows
        await self._take_all(taken)
        await self._refuse_missing(spans, [row[0] for row in taken])

    async def _refuse_missing(self, spans: Spans, taken: list[int]) -> None:
        """See that no row was missing: that of a deleted message stays."""
        done = [span_of(first, last) for first, last in spans]
        if self.more:
            if not taken:
                return
            done = gone_over(done, place_of(taken[-1]), backwards=self._query.backwards)
        if len(taken) == sum(it.last - it.first + 1 for it in done):
            return
        ends = [bounds(it) for it in done]
        args = ([first for first, _ in ends], [last for _, last in ends], self._session.tree)
        there = sorted(depth for (depth,) in await self._tx.rows(_DEPTHS, args))
        first, last = min(it.first for it in done), max(it.last for it in done)
        refuse_missing(((depth, depth) for depth in there), first, last, self._session.id)

    async def _take_all(self, rows: list[Any]) -> None:
        self.entries += await messages_of(self._tx, self._session.tree, rows, self._names)
        self.bytes += sum(len(row[-1]) for row in rows)

    async def _take_in_pages(self, spans: Spans) -> None:
        """Take rows so that a byte limit does not read a whole long path."""
        taken: list[int] = []
        async for rows in self._pages(spans):
            messages = await messages_of(self._tx, self._session.tree, rows, self._names)
            for row, message in zip(rows, messages, strict=True):
                if self.more or not self._has_room(len(row[-1])):
                    break
                self.entries.append(message)
                taken.append(row[0])
            if self.more:
                break
        await self._refuse_missing(spans, taken)

    async def _pages(self, spans: Spans) -> AsyncIterator[list[Any]]:
        size = _FIRST_PAGE
        while spans:
            rows = await self._ranges(spans, size)
            yield rows
            if len(rows) < size:
                return
            spans = _rest_of(spans, rows[-1][0], self._query.backwards)
            size = min(2 * size, _MOST_IN_A_PAGE)

    async def _ranges(self, spans: Spans, most: int | None) -> list[Any]:
        firsts, lasts = [first for first, _ in spans], [last for _, last in spans]
        args = (self._session.tree, firsts, lasts, self._query.backwards, most)
        return await self._tx.rows(_RANGES, args)

    async def _take_cover(self, cover: Cover) -> None:
        after, before = self._query.after, self._query.before
        if cover.last.depth <= after or (before is not None and cover.first.depth >= before):
            return
        pinned, pinned_bytes = await self._pinned(cover)
        summary = Summary(overlay=overlay_of(self._overlays[cover.number]), pinned=pinned)
        if self._has_room(len(summary.text.encode()) + pinned_bytes):
            self.entries.append(summary)

    async def _pinned(self, cover: Cover) -> tuple[list[Message], int]:
        if not self._pins:
            return [], 0
        tree = self._session.tree
        args = (tree, self._pins, pack_place(cover.first), pack_place(cover.last))
        under = await self._tx.value(_PINS_UNDER, args)
        rows = await rows_at(self._tx, tree, under)
        messages = await messages_of(self._tx, tree, [rows[pos] for pos in under], self._names)
        return messages, sum(len(row[-1]) for row in rows.values())

    def _has_room(self, size: int) -> bool:
        """Count an entry in, or note that it was cut off; the first always fits."""
        limit, most = self._query.limit, self._query.max_bytes
        too_many = limit is not None and len(self.entries) >= limit
        too_large = most is not None and bool(self.entries) and self.bytes + size > most
        if too_many or too_large:
            self.more = True
            return False
        self.bytes += size
        return True


def _rest_of(spans: Spans, done: int, backwards: bool) -> Spans:
    """Give what is left of spans after a position of one of them was read."""
    index = next(n for n, (first, last) in enumerate(spans) if first <= done <= last)
    first, last = spans[index]
    left = (first, done - 1) if backwards else (done + 1, last)
    rest = spans[index + 1 :]
    return [left, *rest] if left[0] <= left[1] else rest

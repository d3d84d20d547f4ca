"""Statements about messages: change, erase, find, read, and look around."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence

from ....errors import StoreCorruptError
from ....model import ROOT, ChangeKind, Message, Root
from ....rules.codec import Packed, decode_body, keeping_extra
from ....rules.tree import Span
from ...relational._async.messages import AsyncMessageStatements
from ...relational.bodiless import without_body
from ...relational.position import bounds
from ...relational.rows import (
    POS,
    HasRoom,
    HomeNames,
    Row,
    SeenMessage,
    SessionRow,
    first_digest,
    size_of,
    taken,
)
from ..rows import MESSAGE_COLUMNS, NEW_COLUMN_TYPES, new_columns
from ..words import body_words, home_word, owner_word
from .sums import AsyncPostgresSumStatements
from .tx import AsyncTx

_KINDS = {ChangeKind.UPDATE: 2, ChangeKind.DELETE: 3}
_UPDATE = (
    "UPDATE {s}.message SET role = %s, tokens = %s, digest = %s, body = %s,"
    " words = %s::tsvector || array_to_tsvector(%s::text[]), version = version + %s"
    " WHERE tree = %s AND pos = %s"
)
_ERASE = (
    "UPDATE {s}.message SET role = '', tokens = 0, digest = NULL, body = NULL, words = NULL,"
    " version = version + 1 WHERE tree = %s AND pos = ANY (%s)"
)
_QUOTING = (
    "SELECT o.id FROM {s}.overlay o WHERE o.tree = %s AND EXISTS ("
    " SELECT 1 FROM unnest(%s::bigint[]) d(pos) WHERE (d.pos & 16777215) >= (o.first & 16777215)"
    " AND {s}.is_on_path(o.tree, d.pos, o.last)) ORDER BY o.number"
)
_FOLLOWERS = (
    "SELECT g.number << 24 | ((g.parent & 16777215) + 1) FROM {s}.segment g"
    " WHERE g.tree = %(tree)s AND g.parent = %(pos)s AND g.home = %(home)s"
    " UNION SELECT m.pos FROM {s}.message m WHERE m.tree = %(tree)s AND m.pos = %(pos)s + 1"
    " AND %(pos)s > 0 AND (m.home = %(home)s OR {s}.is_on_path(m.tree, m.pos, %(fork)s))"
    " UNION SELECT (v.first >> 24 << 24) | (%(pos)s & 16777215) + 1"
    " FROM {s}.visible(%(tree)s, NULL, %(fork)s) v"
    " WHERE (%(pos)s & 16777215) + 1 BETWEEN v.first & 16777215 AND v.last & 16777215"
    " AND (%(pos)s = 0 OR {s}.is_on_path(%(tree)s, %(pos)s, %(fork)s))"
)
# OFFSET 0 has each span sought by itself: the few NULLs would be looked for in the whole table.
_GAPS = (
    "SELECT m.pos, m.id, h.id FROM {s}.visible(%(tree)s, NULL, %(leaf)s) v"
    " CROSS JOIN LATERAL (SELECT m.* FROM {s}.message m WHERE m.tree = %(tree)s AND m.pos BETWEEN"
    " greatest(v.first, (v.first >> 24 << 24) + %(after)s + 1) AND v.last"
    " AND m.body IS NULL AND m.role <> 'mark' OFFSET 0) m"
    " LEFT JOIN {s}.session h ON h.tree = m.tree AND h.home = m.home"
    " ORDER BY m.pos & 16777215"
)
_ENDS = (
    "SELECT (SELECT max(m.pos) FROM {s}.message m WHERE m.tree = g.tree"
    " AND m.pos BETWEEN g.number << 24 AND g.number << 24 | 16777215)"
    " FROM {s}.segment g WHERE g.tree = %(tree)s AND g.home = %(home)s"
    " UNION SELECT %(fork)s::bigint WHERE %(fork)s > 0"
    " EXCEPT SELECT g.parent FROM {s}.segment g WHERE g.tree = %(tree)s AND g.home = %(home)s"
)
_HELD = "SELECT pos, tokens FROM {s}.message WHERE tree = %s AND pos = ANY (%s)"
_COUNT_LESS = (
    "UPDATE {s}.session s SET messages = s.messages - (SELECT count(*) FROM {s}.message m"
    " WHERE m.tree = s.tree AND m.home = s.home AND m.pos = ANY (%s))"
    " WHERE s.tree = %s AND s.number = %s"
)
_AT = f"SELECT {MESSAGE_COLUMNS} FROM {{s}}.message m WHERE m.tree = %s AND m.pos = ANY (%s)"
_CONTENTS = (
    "SELECT pos, role, digest, body, id, tokens FROM {s}.message"
    " WHERE tree = %s AND pos = ANY (%s::bigint[])"
)
_PARENTS = (
    "SELECT m.pos, u.pos, p.id FROM {s}.message m"
    " CROSS JOIN LATERAL (SELECT {s}.parent_of(m.tree, m.pos) AS pos OFFSET 0) u"
    " LEFT JOIN {s}.message p ON p.tree = m.tree AND p.pos = u.pos"
    " WHERE m.tree = %s AND m.pos = ANY (%s::bigint[])"
)
_ON_PATH = "SELECT u.pos FROM unnest(%s::bigint[]) u(pos) WHERE {s}.is_on_path(%s, u.pos, %s)"
_WRITE = f"SELECT {{s}}.write_after(%s, %s, %s, %s, {NEW_COLUMN_TYPES})"
_WRITE_MARK = "SELECT {s}.write_mark(%s, %s, %s, %s, %s)"
_GIVE_DIGESTS = (
    "UPDATE {s}.message m SET digest = u.digest FROM unnest(%s::bigint[], %s::bytea[])"
    " u(pos, digest) WHERE m.tree = %s AND m.pos = u.pos"
)
_RANGES = (
    "SELECT pos, home, id, role, tokens, version, created_at, body"
    " FROM {s}.in_ranges(%s, %s::bigint[], %s::bigint[], %s, %s::bigint)"
)
_RANGE_SIZES = _RANGES.replace("created_at, body", "created_at, octet_length(body)")
_HOMES_WITH = (
    # Each looked up by itself: no plan goes through all messages of a session.
    "SELECT s.id FROM {s}.session s CROSS JOIN LATERAL (SELECT m.body FROM {s}.message m"
    " WHERE m.tree = s.tree AND m.home = s.home AND m.id = %s OFFSET 0) m"
    " WHERE s.owner = %s AND m.body IS NOT NULL"
)
_OWN_SEGMENTS = (
    "SELECT number, parent FROM {s}.segment WHERE tree = %s AND home = %s AND number >= %s"
    " ORDER BY number LIMIT %s"
)
_DEPTHS = (
    "SELECT m.pos & 16777215, m.body IS NOT NULL"
    " FROM unnest(%s::bigint[], %s::bigint[]) u(first, last)"
    " JOIN {s}.message m ON m.tree = %s AND m.pos BETWEEN u.first AND u.last ORDER BY 1"
)


class AsyncPostgresMessageStatements(AsyncMessageStatements[AsyncTx]):
    """Statements about messages."""

    spans_at_once = sys.maxsize
    may_have_landed = True

    async def rows_at(self, session: SessionRow, positions: Sequence[int]) -> dict[int, Row]:
        if not positions:
            return {}
        return {row[POS]: row for row in await self._tx.rows(_AT, (session.tree, list(positions)))}

    async def home_names(self, session: SessionRow, homes: Collection[int]) -> HomeNames:
        sql = "SELECT home, id FROM {s}.session WHERE tree = %s AND home = ANY (%s)"
        return dict.fromkeys(homes) | dict(await self._tx.rows(sql, (session.tree, list(homes))))

    # changes

    async def rewrite(
        self, session: SessionRow, pos: int, new: Packed, *, counts: bool = True
    ) -> int:
        [(_, *before, tokens)] = await self._tx.rows(_CONTENTS, (session.tree, [pos]))
        first = first_digest(*before)
        if new.keeps_extra:
            _, _, body, id = before
            new = keeping_extra(new, decode_body(body, id).extra)
        marks = [owner_word(session.owner), home_word(session.home)]
        content = (new.role, new.tokens, first, new.body, body_words(new.body, new.id), marks)
        await self._tx.run(_UPDATE, (*content, int(counts), session.tree, pos))
        return int(tokens)

    async def erase(self, session: SessionRow, doomed: Sequence[SeenMessage]) -> dict[int, int]:
        positions = [it.pos for it in doomed]
        held = dict(await self._tx.rows(_HELD, (session.tree, positions)))
        await self._tx.run(_COUNT_LESS, (positions, session.tree, session.number))
        await self._tx.run(_ERASE, (session.tree, positions))
        return held

    async def note(self, session: SessionRow, deltas: dict[int, int], kind: ChangeKind) -> None:
        now, lists = await self._tx.now(), (list(deltas), list(deltas.values()))
        await self._tx.run(
            "SELECT {s}.note_changes(%s, %s, %s::bigint[], %s::bigint[], %s, %s)",
            (session.tree, session.number, *lists, _KINDS[kind], now),
        )
        await AsyncPostgresSumStatements(self._tx).renew_context(session)

    async def quoting(self, session: SessionRow, positions: Sequence[int]) -> list[str]:
        rows = await self._tx.rows(_QUOTING, (session.tree, list(positions)))
        return [id for (id,) in rows]

    # looking around

    async def followers(self, session: SessionRow, pos: int) -> list[int]:
        place = {"tree": session.tree, "home": session.home, "fork": session.fork}
        return [child for (child,) in await self._tx.rows(_FOLLOWERS, {**place, "pos": pos})]

    async def ends(self, session: SessionRow) -> list[int]:
        place = {"tree": session.tree, "home": session.home, "fork": session.fork}
        return [pos for (pos,) in await self._tx.rows(_ENDS, place)]

    async def homes_with(self, owner: int, id: str) -> list[str]:
        return [session for (session,) in await self._tx.rows(_HOMES_WITH, (id, owner))]

    async def own_segments(
        self, session: SessionRow, first: int, most: int
    ) -> list[tuple[int, int]]:
        return await self._tx.rows(_OWN_SEGMENTS, (session.tree, session.home, first, most))

    async def gaps(self, session: SessionRow, leaf: int, after: int) -> list[Row]:
        return await self._tx.rows(_GAPS, {"tree": session.tree, "leaf": leaf, "after": after})

    # appending

    async def first_digests(
        self, session: SessionRow, seen: Iterable[SeenMessage]
    ) -> dict[int, bytes | None]:
        rows = await self._tx.rows(_CONTENTS, (session.tree, [it.pos for it in seen]))
        return {pos: first_digest(*found) for pos, *found, _ in rows}

    async def parent_ids(
        self, session: SessionRow, positions: Iterable[int]
    ) -> dict[int, str | Root]:
        rows = await self._tx.rows(_PARENTS, (session.tree, list(positions)))
        for _, above, id in rows:
            if above and id is None:
                raise StoreCorruptError(f"the message at position {above} is missing")
        return {pos: id or ROOT for pos, _, id in rows}

    async def on_path(self, session: SessionRow, positions: Collection[int], leaf: int) -> set[int]:
        rows = await self._tx.rows(_ON_PATH, (list(positions), session.tree, leaf))
        return {pos for (pos,) in rows}

    async def write_after(
        self, session: SessionRow, pos: int, batch: Sequence[Packed], now: int
    ) -> tuple[int, int | None]:
        if batch[0].is_mark:
            place = (session.tree, session.number, pos, now, batch[0].id)
            return await self._tx.value(_WRITE_MARK, place), None
        args = (session.tree, session.number, pos, now, *new_columns(batch))
        first = await self._tx.value(_WRITE, args)
        given = {at: it.given_digest for at, it in enumerate(batch, first) if it.given_digest}
        if given:
            lists = (list(given), list(given.values()))
            await self._tx.run(_GIVE_DIGESTS, (*lists, session.tree))
        return first, None

    # reading

    async def read_spans(
        self,
        session: SessionRow,
        spans: list[Span],
        *,
        backwards: bool,
        most: int | None,
        has_room: HasRoom | None,
        names: HomeNames,
        bodies: bool = True,
    ) -> tuple[list[Message], int]:
        args = (session.tree, *_ends_of(spans), backwards, most)
        rows = await self._tx.rows(_RANGES if bodies else _RANGE_SIZES, args)
        kept = taken(rows, has_room, bodies)
        whole = kept if bodies else [without_body(row) for row in kept]
        messages = await self.messages_of(session, whole, names)
        return messages, sum(size_of(row, bodies) for row in kept)

    async def depths_in(self, session: SessionRow, spans: list[Span]) -> list[tuple[int, bool]]:
        return await self._tx.rows(_DEPTHS, (*_ends_of(spans), session.tree))

    async def snapshot(self, session: SessionRow) -> int:
        sql = "SELECT max(seq) FROM {s}.edit WHERE tree = %s"
        return await self._tx.value(sql, (session.tree,)) or 0


def _ends_of(spans: Iterable[Span]) -> tuple[list[int], list[int]]:
    ends = [bounds(span) for span in spans]
    return [first for first, _ in ends], [last for _, last in ends]

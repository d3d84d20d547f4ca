"""Listing sessions: a page at a time; the order is kept by the owner, the records by the trees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ....errors import NotFoundError
from ....model import SessionPage, SessionQuery, SessionRecord, Statistics
from ....rules.system import key_digest
from ...base.counting import statistics_of
from ...base.listing import is_listed, read_cursor
from ..rows import RedisSessionRow, document_of, is_expired
from .client import ScriptCall
from .context import AsyncRedisContext
from .maintenance import publish, publish_all

_CURSOR = re.compile(r"(active|created|updated)\.(-?[0-9]{1,18})\.([0-9]{1,16})", re.ASCII)
_ORDERED_BY = {"active": "la", "updated": "lu", "created": "lc"}
TITLE_BYTES = 80
FEW = 1_000
"""How many sessions are looked up at most, before an order is gone through instead."""


class ListedSession(NamedTuple):
    """A session by its place in a listing."""

    second: int
    number: int
    id: str


class WordRange(NamedTuple):
    """Words that sessions are found by, and how many entries there are for them."""

    low: bytes
    high: bytes
    entries: int


async def list_page(context: AsyncRedisContext, owner: str, query: SessionQuery) -> SessionPage:
    """Return a page, with the cursor after its last session."""
    after = read_cursor(query, _CURSOR)
    start = None if after is None else ListedSession(int(after[2]), int(after[3]), "")
    words = _words(query)
    if query.order != "created" or words:
        await _publish_listing(context, owner)
    few = await _look_up(context, owner, query, words) if words else None
    found: list[tuple[ListedSession, SessionRecord]] = []
    while len(found) <= query.limit:
        count = max(query.limit, 50) + 1
        chunk = (
            await _next(context, owner, query, start, count)
            if few is None
            else _next_of(few, query, start, count)
        )
        if not chunk:
            break
        start = chunk[-1]
        for listed, row in await _rows(context, owner, chunk):
            record = await _listed_record(context, owner, query, row)
            if record is not None:
                found.append((listed, record))
            if len(found) > query.limit:
                break
    return _page_of(query, found)


async def _publish_listing(context: AsyncRedisContext, owner: str) -> None:
    """Bring up to date in what order an owner's sessions are, and what they are found by."""
    key = context.keys.owner(owner)
    if await context.client.run("HGET", key, "lk") is None:
        # They may be from before there were words that they are found by.
        trees = await trees_of(context, owner)
        await publish(context, owner, trees)
        if trees:
            await context.client.run("HSET", key, "lk", 1)
    await publish_all(context, owner)


def _words(query: SessionQuery) -> list[tuple[bytes, bool]]:
    """Return words that find what a query asks for; whether each is a whole one, or a beginning."""
    found: list[tuple[bytes, bool]] = []
    if query.key:
        found.append((key_digest(query.key).hex().encode(), False))
    found += [(_word("g", tag), True) for tag in query.tags]
    if query.title_prefix:
        title = query.title_prefix.encode()[:TITLE_BYTES]
        found.append((b"t" + title.hex().encode(), False))
    if query.state is not None:
        kind = query.kind or ""
        found.append((_word("s", f"{query.state}\0{kind}"), query.kind is not None))
    elif query.kind is not None:
        found.append((_word("k", query.kind), True))
    return found


def _word(letter: str, name: str) -> bytes:
    return f"{letter}{name.encode().hex()}".encode()


async def _look_up(
    context: AsyncRedisContext,
    owner: str,
    query: SessionQuery,
    words: Sequence[tuple[bytes, bool]],
) -> list[ListedSession] | None:
    """Return the sessions that one of some words finds, in order; None when each finds many."""
    key, order = context.keys.owner(owner, "lk"), context.keys.owner(owner, "lc")
    ranges = [(b"[" + it + b" " * whole, b"[" + it + b" " * whole + b"\xff") for it, whole in words]
    total, *counts = await context.client.run_all(
        [("ZCARD", order), *(("ZLEXCOUNT", key, *it) for it in ranges)]
    )
    best = min(
        (WordRange(*it, count) for it, count in zip(ranges, counts, strict=True)),
        key=lambda it: it.entries,
    )
    if best.entries > FEW or 4 * best.entries > total:
        return None
    entries = await context.client.run("ZRANGEBYLEX", key, best.low, best.high)
    members = list(dict.fromkeys(it.split(b" ", 1)[1] for it in entries))
    seconds: Sequence[bytes | float | None] = [0.0] * len(members)
    if members and query.order != "created":
        order = context.keys.owner(owner, _ORDERED_BY[query.order])
        seconds = await context.client.run("ZMSCORE", order, *members)
    placed = zip(members, seconds, strict=True)
    found = [_listed(int(float(second)), it) for it, second in placed if second is not None]
    return sorted(found, reverse=not query.reverse)


def _next_of(
    listed: Sequence[ListedSession], query: SessionQuery, start: ListedSession | None, count: int
) -> list[ListedSession]:
    """Return those of some sessions, in order, that come after a place."""
    return [it for it in listed if _is_after(it, query, start)][:count]


def _is_after(it: ListedSession, query: SessionQuery, start: ListedSession | None) -> bool:
    if start is None:
        return True
    return it[:2] > start[:2] if query.reverse else it[:2] < start[:2]


async def _listed_record(
    context: AsyncRedisContext, owner: str, query: SessionQuery, row: RedisSessionRow
) -> SessionRecord | None:
    """Return a session's record, if a query asks for it."""
    profile = row.profile
    is_asked = is_listed(
        query,
        title=profile.title,
        kind=profile.kind,
        state=profile.state,
        tags=profile.tags,
        key=row.system.key,
        parent=profile.parent,
        created_us=int(row["cr"]),
        active_us=int(row["act"]),
    )
    if not is_asked:
        return None
    try:
        return await context.record(owner, row)
    except NotFoundError:
        return None  # it was deleted while its context was worked out


def _page_of(
    query: SessionQuery, found: Sequence[tuple[ListedSession, SessionRecord]]
) -> SessionPage:
    page, cursor = found[: query.limit], None
    if len(found) > query.limit:
        last = page[-1][0]
        cursor = f"{query.order}.{last.second}.{last.number}"
    return SessionPage(sessions=[record for _, record in page], cursor=cursor)


async def _next(
    context: AsyncRedisContext,
    owner: str,
    query: SessionQuery,
    start: ListedSession | None,
    count: int,
) -> list[ListedSession]:
    """Return the sessions after a place in the listing."""
    key, way = context.keys.owner(owner, _ORDERED_BY[query.order]), "" if query.reverse else "REV"
    if query.order == "created":
        place = b"" if start is None else b"(%016d" % start.number
        # Behind a number stands the name; none begins as this does.
        behind = place + b"\xff" if place else b"-"
        ends = (behind, b"+") if query.reverse else (place or b"+", b"-")
        members = await context.client.run(f"Z{way}RANGEBYLEX", key, *ends, "LIMIT", 0, count)
        return [_listed(0, member) for member in members]
    first, last = ("-inf", "+inf") if query.reverse else ("+inf", "-inf")
    if start is not None:
        first = str(start.second)
    skipped, found = 0, list[ListedSession]()
    while not found:
        limit = ("LIMIT", skipped, count)
        pairs = await context.client.run(
            f"Z{way}RANGEBYSCORE", key, first, last, "WITHSCORES", *limit
        )
        if not pairs:
            return []
        skipped += count
        all = [_listed(int(float(score)), member) for member, score in in_pairs(pairs)]
        found = [it for it in all if _is_after(it, query, start)]
    return found


def in_pairs(pairs: Sequence[object]) -> list[tuple[bytes, bytes]]:
    """Return the members of a sorted set with their scores."""
    # The driver gives pairs, or one after the other: that depends on its protocol.
    if pairs and isinstance(pairs[0], bytes):
        return list(zip(pairs[::2], pairs[1::2], strict=True))  # type: ignore[arg-type]
    return [tuple(pair) for pair in pairs]  # type: ignore[misc, arg-type]


def _listed(second: int, member: bytes) -> ListedSession:
    return ListedSession(second, int(member[:16]), member[16:].decode())


async def _rows(
    context: AsyncRedisContext, owner: str, listed: Sequence[ListedSession]
) -> list[tuple[ListedSession, RedisSessionRow]]:
    """Read the rows of sessions; those that are gone are left out."""
    key = context.keys.owner(owner, "d")
    values = await context.client.run("HMGET", key, *(it.id for it in listed))
    trees = [
        (it, context.directory.remember(owner, it.id, value))
        for it, value in zip(listed, values, strict=True)
        if value is not None
    ]
    rows = await context.client.run_all(
        [("HGETALL", context.key(tree, f"s:{it.id}")) for it, tree in trees]
    )
    now = await context.now()
    found = [
        (it, RedisSessionRow(it.id, fields))
        for (it, _), fields in zip(trees, rows, strict=True)
        if fields
    ]
    # Another may have its name by now.
    return [
        (it, row) for it, row in found if int(row.number) == it.number and not row.is_expired(now)
    ]


async def trees_of(context: AsyncRedisContext, owner: str) -> list[str]:
    """Return the trees that an owner's sessions are in."""
    values = await context.client.run("HVALS", context.keys.owner(owner, "d"))
    return list(dict.fromkeys(value.split(b" ", 1)[0].decode() for value in values))


async def count(context: AsyncRedisContext, owner: str) -> Statistics:
    """Count what an owner has."""
    trees, now = await trees_of(context, owner), context.directory.time()
    sessions: list[Sequence[Any]] = []
    totals = [0, 0, 0]
    for answer in await context.client.run_scripts(
        [ScriptCall("count_tree", [context.keys.tree(tree)], [now]) for tree in trees]
    ):
        rows, *figures = answer
        sessions += [(kind.decode(), state.decode(), count) for kind, state, count in rows]
        totals = [one + other for one, other in zip(totals, figures, strict=True)]
    time = await context.now()
    for stored in await context.client.run("HVALS", context.keys.owner(owner, "k:")):
        totals[2] += not is_expired(document_of("", stored), time)
    return statistics_of(sessions, *totals)

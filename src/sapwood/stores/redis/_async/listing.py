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
from .maintenance import publish_all

_CURSOR = re.compile(r"(active|created)\.(-?[0-9]{1,18})\.([0-9]{1,16})", re.ASCII)


class ListedSession(NamedTuple):
    """A session by its place in a listing."""

    second: int
    number: int
    id: str


async def list_page(context: AsyncRedisContext, owner: str, query: SessionQuery) -> SessionPage:
    """Return a page, with the cursor after its last session."""
    after = read_cursor(query, _CURSOR)
    start = None if after is None else ListedSession(int(after[2]), int(after[3]), "")
    if query.key:
        return await _page_by_key(context, owner, query, start)
    if query.order == "active":
        await publish_all(context, owner)
    found: list[tuple[ListedSession, SessionRecord]] = []
    while len(found) <= query.limit:
        chunk = await _next(context, owner, query.order, start, max(query.limit, 50) + 1)
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


async def _page_by_key(
    context: AsyncRedisContext, owner: str, query: SessionQuery, start: ListedSession | None
) -> SessionPage:
    """Return a page of the sessions whose key begins so; all of these are looked at."""
    low = key_digest(query.key).hex().encode()
    limits = (b"[" + low, b"[" + low + b"\xff")
    members = await context.client.run("ZRANGEBYLEX", context.keys.owner(owner, "lk"), *limits)
    named = dict.fromkeys(member.split(b" ", 1)[1] for member in members)
    rows = await _rows(context, owner, [_listed(0, it) for it in named]) if named else []
    by_activity = query.order == "active"
    placed = [
        (ListedSession(int(row["act"]) // 1_000_000 if by_activity else 0, it.number, it.id), row)
        for it, row in rows
        if int(row.number) == it.number
    ]
    found: list[tuple[ListedSession, SessionRecord]] = []
    for listed, row in sorted(placed, key=lambda pair: pair[0], reverse=True):
        if start is not None and listed[:2] >= start[:2]:
            continue
        record = await _listed_record(context, owner, query, row)
        if record is not None:
            found.append((listed, record))
        if len(found) > query.limit:
            break
    return _page_of(query, found)


async def _next(
    context: AsyncRedisContext, owner: str, order: str, start: ListedSession | None, count: int
) -> list[ListedSession]:
    """Return the sessions after a place in the listing, newest first."""
    if order == "created":
        key = context.keys.owner(owner, "lc")
        above = "+" if start is None else f"({start.number:016d}"
        members = await context.client.run("ZREVRANGEBYLEX", key, above, "-", "LIMIT", 0, count)
        return [_listed(0, member) for member in members]
    key = context.keys.owner(owner, "la")
    above = "+inf" if start is None else str(start.second)
    skipped, found = 0, list[ListedSession]()
    while not found:
        limit = ("LIMIT", skipped, count)
        pairs = await context.client.run(
            "ZREVRANGEBYSCORE", key, above, "-inf", "WITHSCORES", *limit
        )
        if not pairs:
            return []
        skipped += count
        all = [_listed(int(float(score)), member) for member, score in _both(pairs)]
        found = [it for it in all if start is None or it[:2] < start[:2]]
    return found


def _both(pairs: Sequence[object]) -> list[tuple[bytes, bytes]]:
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
    return [(it, row) for it, row in found if not row.is_expired(now)]


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

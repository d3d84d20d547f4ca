"""Deleting sessions whose time is over."""

from __future__ import annotations

from .context import AsyncRedisContext
from .retire import delete_session

DUE_AT_ONCE = 100


async def delete_expired(context: AsyncRedisContext, owner: str, most: int = DUE_AT_ONCE) -> int:
    """Delete sessions whose time is over; return how many were looked at."""
    key, now = context.keys.owner(owner, "due"), await context.now()
    due = await context.client.run("ZRANGEBYSCORE", key, "-inf", now, "LIMIT", 0, most)
    for name in due:
        session = name.decode()
        expires = await _expiry(context, owner, session)
        if expires is None:
            await context.client.run("ZREM", key, session)
        elif int(expires) > now:
            # It was used since: it is looked at again when that time is over.
            await context.client.run("ZADD", key, expires, session)
        else:
            tree = await context.directory.find_tree(owner, session)
            if tree is not None:
                await delete_session(context, owner, session, tree, expired_at=now)
    return len(due)


async def _expiry(context: AsyncRedisContext, owner: str, session: str) -> str | None:
    tree = await context.directory.find_tree(owner, session)
    if tree is None:
        return None
    found = await context.client.run("HGET", context.key(tree, f"s:{session}"), "x")
    return found.decode() if found else None

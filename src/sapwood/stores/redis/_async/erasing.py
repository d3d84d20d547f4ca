"""Erasing an owner, and deleting what has expired."""

from __future__ import annotations

from ....errors import StoreBusyError
from .context import AsyncContext
from .retiring import delete_session
from .tending import settle_owner

ROUNDS = 10
DUE_AT_ONCE = 100


async def erase_owner(context: AsyncContext, owner: str) -> None:
    """Delete all that an owner has; whoever still creates sessions may keep it from ending."""
    key = context.keys.owner(owner, "d")
    for _ in range(ROUNDS):
        directory: dict[bytes, bytes] = await context.link.run("HGETALL", key)
        for name, value in directory.items():
            await _delete(context, owner, name.decode(), value)
        await settle_owner(context, owner, by_force=True)
        if await context.link.ask("erase", [context.keys.owner(owner)]):
            await context.link.run("SREM", context.keys.owners, owner)
            if await context.link.run("EXISTS", key, context.keys.owner(owner, "k:")):
                await context.link.run("SADD", context.keys.owners, owner)
            return
    raise StoreBusyError(f"sessions of {owner!r} are being created all the time: try again")


async def _delete(context: AsyncContext, owner: str, session: str, value: bytes) -> None:
    tree = context.directory.remember(owner, session, value)
    await delete_session(context, owner, session, tree)
    # The name goes, too, where there was no session behind it.
    await context.directory.release(owner, session, value)
    # It may have been created in between; who creates it later finds its name gone.
    await delete_session(context, owner, session, tree)


async def delete_expired(context: AsyncContext, owner: str, most: int = DUE_AT_ONCE) -> int:
    """Delete sessions whose time is over; give how many were looked at."""
    key, now = context.keys.owner(owner, "due"), await context.now()
    due = await context.link.run("ZRANGEBYSCORE", key, "-inf", now, "LIMIT", 0, most)
    for name in due:
        session = name.decode()
        expires = await _expiry(context, owner, session)
        if expires is None:
            await context.link.run("ZREM", key, session)
        elif int(expires) > now:
            # It was used since: it is looked at again when that time is over.
            await context.link.run("ZADD", key, expires, session)
        else:
            tree = await context.directory.find_tree(owner, session)
            if tree is not None:
                await delete_session(context, owner, session, tree, expired_at=now)
    return len(due)


async def _expiry(context: AsyncContext, owner: str, session: str) -> str | None:
    tree = await context.directory.find_tree(owner, session)
    if tree is None:
        return None
    found = await context.link.run("HGET", context.key(tree, f"s:{session}"), "x")
    return found.decode() if found else None

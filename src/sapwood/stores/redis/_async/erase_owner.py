"""Erasing an owner: all sessions, then what the owner has besides them."""

from __future__ import annotations

from ....errors import StoreBusyError
from .context import AsyncRedisContext
from .maintenance import settle_owner
from .retire import delete_session

ROUNDS = 10


async def erase_owner(context: AsyncRedisContext, owner: str) -> None:
    """Delete all that an owner has; whoever still creates sessions may keep it from ending."""
    key = context.keys.owner(owner, "d")
    for _ in range(ROUNDS):
        directory: dict[bytes, bytes] = await context.client.run("HGETALL", key)
        for name, value in directory.items():
            await _delete(context, owner, name.decode(), value)
        await settle_owner(context, owner, by_force=True)
        if await context.client.run_script("erase_owner", [context.keys.owner(owner)]):
            await context.client.run("SREM", context.keys.owners, owner)
            if await context.client.run("EXISTS", key, context.keys.owner(owner, "k:")):
                await context.client.run("SADD", context.keys.owners, owner)
            return
    raise StoreBusyError(f"sessions of {owner!r} are being created all the time: try again")


async def _delete(context: AsyncRedisContext, owner: str, session: str, value: bytes) -> None:
    tree = context.directory.remember(owner, session, value)
    await delete_session(context, owner, session, tree)
    # The name goes, too, where there was no session behind it.
    await context.directory.release(owner, session, value)
    # It may have been created in between; who creates it later finds its name gone.
    await delete_session(context, owner, session, tree)

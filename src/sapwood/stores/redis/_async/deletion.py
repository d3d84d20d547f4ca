"""Deleting sessions: each is gone at once, what only it stood on is swept after that."""

from __future__ import annotations

from typing import Any

from ....errors import StoreBusyError
from ...base.refusals import refuse_stale_session
from ..look import Look, look_of
from ..rows import RedisSessionRow, document_of, range_of
from .client import RedisCommand
from .context import AsyncRedisContext, MovedError
from .data import begin_with_mark, value_at_tip
from .maintenance import clean_up_tree, finish_deletions_of

PINS = "pins"
DUE_AT_ONCE = 100
ROUNDS = 10


async def delete_session(
    context: AsyncRedisContext,
    owner: str,
    session: str,
    tree: str | None = None,
    *,
    expired_at: int | None = None,
    expected_version: int | None = None,
) -> None:
    """Delete a session; with a tree, one there, also when it has expired, or only if it has."""
    if tree is None:
        look = await context.directory.look(owner, session)
    else:
        key = context.keys.tree(tree)
        # At the beginning of time nothing has expired.
        answer = await context.client.run_script("look", [key], session, "0", "")
        if answer[0] == b"gone":
            return
        look = look_of(tree, session, answer)
        if expired_at is not None and not look.row.is_expired(expired_at):
            # Somebody deleted it, and created another under its name.
            raise MovedError
    refuse_stale_session(session, look.row.version, expected_version)
    # Before it is gone: whoever has its name after that begins above it.
    await context.client.run_script("raise_floor", [context.keys.floor], look.row.version)
    number, now = look.row.number, await context.now()
    parts = (f"s:{session}", f"k:{number}", f"ks:{number}", f"u:{number}")
    gone = [context.key(look.tree, it) for it in parts]
    commands = [*await _retire(context, look, now), ("UNLINK", *gone)]
    await context.apply(owner, look, commands, only_frees=True)
    context.directory.forget(owner, session)
    stands = await context.directory.entry(owner, session)
    if stands is not None and stands.startswith(f"{look.tree} {number} ".encode()):
        await context.directory.release(owner, session, stands)
    await clean_up_tree(context, owner, look.tree)


async def clear_session(
    context: AsyncRedisContext, owner: str, session: str, mark: str | None
) -> RedisSessionRow:
    """Retire a session's messages and go on under a new number; return the row.

    With an id for a mark, its data is kept, if there is any.
    """
    look = await context.directory.look(owner, session)
    home = look.homes + 1
    changes: dict[str, Any] = {
        **{"tip": "", "ti": "", "raw": 0, "c": 0, "m": 0, "fk": "", "inh": "", "ov": 0},
        "h": home,
        "ver": look.row.version + 1,
        "up": look.now,
        "da": "",
    }
    kept: list[RedisCommand] = []
    if mark is not None and look.row.data:
        value = await value_at_tip(context, look)
        kept, standing = begin_with_mark(context, look, home, mark, value)
        changes |= standing
    key = context.key(look.tree, f"k:{look.row.number}")
    stored: dict[bytes, bytes] = await context.client.run("HGETALL", key)
    # One each: a script cannot pass on any number of words.
    dropped = [name for name, it in stored.items() if _goes_at_clear(name, it)]
    commands = [
        *await _retire(context, look, look.now),
        ("HSET", context.key(look.tree, "t"), "h", home),
        ("HSET", context.key(look.tree, "m"), home, session),
        context.change(look, changes),
        *(("drop", key, it) for it in dropped),
        *kept,
    ]
    await context.apply(owner, look, commands, only_frees=not kept)
    await clean_up_tree(context, owner, look.tree)
    return look.row.changed(changes)


def _goes_at_clear(name: bytes, stored: bytes) -> bool:
    """Whether a document is a session's pins or a lease, or is not inherited."""
    document = document_of(name.decode(), stored)
    return document.key == PINS or document.expires_us is not None or not document.inherit


async def _retire(context: AsyncRedisContext, look: Look, now: int) -> list[RedisCommand]:
    """Return the commands after which a home is gone, and its segments are nobody's."""
    tree, row = look.tree, look.row
    segments, members = await context.client.run_all(
        [
            ("LRANGE", context.key(tree, f"o:{row.home}"), 0, -1),
            ("ZRANGE", context.key(tree, f"v:{row.number}"), 0, -1),
        ]
    )
    left = {int(it) for it in segments} | ({row.fork[0]} if row.fork[0] else set())
    return [
        ("RPUSH", context.key(tree, "f"), f"R {now}/{row.version} {row.id}"),
        *(("ZADD", context.key(tree, "z"), it, it) for it in sorted(left)),
        *await release_overlays(context, tree, [member[32:] for member in members]),
        ("UNLINK", context.key(tree, f"o:{row.home}"), context.key(tree, f"v:{row.number}")),
        ("HDEL", context.key(tree, "m"), row.home),
    ]


async def release_overlays(
    context: AsyncRedisContext, tree: str, numbers: list[bytes]
) -> list[RedisCommand]:
    """Return the commands after which overlays are in force for one session less, or gone."""
    if not numbers:
        return []
    counts, ranges = await context.client.run_all(
        [("HMGET", context.key(tree, part), *numbers) for part in ("wr", "w")]
    )
    commands: list[RedisCommand] = []
    for number, count, range in zip(numbers, counts, ranges, strict=True):
        # What somebody else has lifted meanwhile is not there any more: nothing will be applied.
        if count is not None and int(count) > 1:
            commands.append(("HINCRBY", context.key(tree, "wr"), number, -1))
            continue
        commands += [("HDEL", context.key(tree, part), number) for part in ("w", "y", "wr")]
        if range is not None:
            commands.append(("HDEL", context.key(tree, "q"), range_of(range).id))
    return commands


async def delete_expired(context: AsyncRedisContext, owner: str) -> int:
    """Delete sessions whose time is over; return how many were looked at."""
    key, now = context.keys.owner(owner, "due"), await context.now()
    due = await context.client.run("ZRANGEBYSCORE", key, "-inf", now, "LIMIT", 0, DUE_AT_ONCE)
    for name in due:
        session = name.decode()
        tree = await context.directory.find_tree(owner, session)
        expires = tree and await context.client.run("HGET", context.key(tree, f"s:{session}"), "x")
        if not expires:
            await context.client.run("ZREM", key, session)
        elif int(expires) > now:
            # It was used since: it is looked at again when that time is over.
            await context.client.run("ZADD", key, expires, session)
        else:
            await delete_session(context, owner, session, tree, expired_at=now)
    return len(due)


async def erase_owner(context: AsyncRedisContext, owner: str) -> None:
    """Delete all that an owner has; whoever still creates sessions may keep it from ending."""
    key, directory = context.keys.owner(owner, "d"), context.directory
    for _ in range(ROUNDS):
        names: dict[bytes, bytes] = await context.client.run("HGETALL", key)
        for name, value in names.items():
            session = name.decode()
            tree = directory.remember(owner, session, value)
            await delete_session(context, owner, session, tree)
            # The name goes, too, where there was no session behind it.
            await directory.release(owner, session, value)
            # It may have been created in between; who creates it later finds its name gone.
            await delete_session(context, owner, session, tree)
        await finish_deletions_of(context, owner, by_force=True)
        if await context.client.run_script("erase_owner", [context.keys.owner(owner)]):
            await context.client.run("SREM", context.keys.owners, owner)
            if await context.client.run("EXISTS", key, context.keys.owner(owner, "k:")):
                await context.client.run("SADD", context.keys.owners, owner)
            return
    raise StoreBusyError(f"sessions of {owner!r} are being created all the time: try again")

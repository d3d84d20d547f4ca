"""Retiring a home: the session is gone at once, what only it stood on is swept after that."""

from __future__ import annotations

from typing import Any

from ..document_row import document_of
from ..session_row import RedisSessionRow
from .client import RedisCommand
from .context import AsyncRedisContext
from .look import Look, look_of
from .maintenance import clean_up_tree
from .overlay_release import release_overlays
from .trees import MovedError

PINS = "pins"


async def delete_session(
    context: AsyncRedisContext,
    owner: str,
    session: str,
    tree: str | None = None,
    *,
    expired_at: int | None = None,
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
    row, now = look.row, await context.now()
    commands = [
        *await _retire(context, look, now),
        (
            "UNLINK",
            context.key(look.tree, f"s:{session}"),
            context.key(look.tree, f"k:{row.number}"),
            context.key(look.tree, f"u:{row.number}"),
        ),
    ]
    await context.apply(owner, look, commands, only_frees=True)
    await _release_name(context, owner, look)
    await clean_up_tree(context, owner, look.tree)


async def _release_name(context: AsyncRedisContext, owner: str, look: Look) -> None:
    """Take a session that is gone out of the directory."""
    session = look.row.id
    context.directory.forget(owner, session)
    stands = await context.directory.entry(owner, session)
    wanted = f"{look.tree} {look.row.number} ".encode()
    if stands is not None and stands.startswith(wanted):
        await context.directory.release(owner, session, stands)


async def clear_session(context: AsyncRedisContext, owner: str, session: str) -> RedisSessionRow:
    """Retire a session's messages and go on under a new number; return the row."""
    look = await context.directory.look(owner, session)
    home = look.homes + 1
    changes: dict[str, Any] = {
        **{"tip": "", "ti": "", "raw": 0, "c": 0, "m": 0, "fk": "", "inh": "", "ov": 0},
        "h": home,
        "ver": look.row.version + 1,
    }
    commands = [
        *await _retire(context, look, look.now),
        ("HSET", context.key(look.tree, "t"), "h", home),
        ("HSET", context.key(look.tree, "m"), home, session),
        context.change(look, changes),
        *await _drop_documents(context, look),
    ]
    await context.apply(owner, look, commands, only_frees=True)
    await clean_up_tree(context, owner, look.tree)
    return look.row.changed(changes)


async def _drop_documents(context: AsyncRedisContext, look: Look) -> list[RedisCommand]:
    """Return the commands that drop pins and leases."""
    key = context.key(look.tree, f"k:{look.row.number}")
    stored: dict[bytes, bytes] = await context.client.run("HGETALL", key)
    found = [document_of(name.decode(), it) for name, it in stored.items()]
    gone = [it.key for it in found if it.key == PINS or it.expires_us is not None]
    # One each: a script cannot pass on any number of words.
    return [("HDEL", key, it) for it in gone]


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
        ("RPUSH", context.key(tree, "f"), f"R {now} {row.id}"),
        *(("ZADD", context.key(tree, "z"), it, it) for it in sorted(left)),
        *await release_overlays(context, tree, [member[32:] for member in members]),
        ("UNLINK", context.key(tree, f"o:{row.home}"), context.key(tree, f"v:{row.number}")),
        ("HDEL", context.key(tree, "m"), row.home),
    ]

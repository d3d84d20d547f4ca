"""The row of a new session, and what is noted once it is there."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ....model import NewSession
from ....rules.codec import encode_json
from ..session_row import RedisProfile, RedisSessionRow, encode_profile
from .client import RedisCommand
from .context import AsyncRedisContext
from .look import Look
from .retire import delete_session
from .trees import MovedError

_EMPTY = {"tip": "", "ti": "", "raw": 0, "c": 0, "m": 0, "ver": 1, "fk": "", "inh": "", "ov": 0}


async def fields_of(
    context: AsyncRedisContext, new: NewSession, source: Look | None
) -> dict[str, Any]:
    """Return the fields of a session that has no place yet."""
    now = await context.now()
    created = now if new.created_us is None else new.created_us
    attributes = source.row.attributes if source else b"{}"
    if new.attributes is not UNSET:
        attributes = encode_json(new.attributes, "attributes")
    return {
        **_EMPTY,
        "p": encode_profile(_profile(new, source)),
        "attributes": attributes,
        "cr": created,
        "act": created,
        "x": "" if context.ttl_us is None else now + context.ttl_us,
    }


def _profile(new: NewSession, source: Look | None) -> RedisProfile:
    base = source.row.profile if source else RedisProfile()
    kind, parent = ("branch", source.row.id) if source else (None, None)
    if new.parent is not None:
        kind, parent = new.parent.kind.value, new.parent.session
    return RedisProfile(
        title=new.title,
        state=new.state,
        tags=base.tags if new.tags is UNSET else list(new.tags),
        budget=base.budget if new.budget is UNSET else new.budget,
        model=base.model if new.model is UNSET else new.model,
        source=base.source if new.source is UNSET else new.source,
        end_reason=new.end_reason,
        parent=parent,
        parent_kind=kind,
    )


def begin_tree(context: AsyncRedisContext, tree: str, owner: str, version: int) -> RedisCommand:
    """Return the command that begins a tree.

    It begins with a time for its version, so that those of a deleted session are not used again.
    """
    fields = {"v": version, "a": 0, "n": 0, "h": 1, "owner": owner}
    return ("HSET", context.key(tree, "t"), *flat_pairs(fields))


def add_session(
    context: AsyncRedisContext, tree: str, session: str, fields: dict[str, Any]
) -> list[RedisCommand]:
    """Return the commands that add a session to a tree."""
    return [
        ("HSET", context.key(tree, "m"), fields["h"], session),
        ("HSET", context.key(tree, f"s:{session}"), *flat_pairs(fields)),
    ]


async def _begin_again(context: AsyncRedisContext, owner: str, session: str, claim: bytes) -> None:
    """Remove a session whose name was taken away before it was there, and make another."""
    tree = context.directory.remember(owner, session, claim)
    if await context.client.run("EXISTS", context.key(tree, f"s:{session}")):
        await delete_session(context, owner, session, tree)
        raise MovedError


def with_numbers(claim: bytes, fields: dict[str, Any], home: int) -> dict[str, Any]:
    """Add the numbers that a session gets with its claim."""
    return {**fields, "h": home, "n": claim.split(b" ")[1].decode()}


def deadline_of(claim: bytes) -> str:
    """Return until when a claimed session may be created."""
    return claim.split(b" ")[2].decode()


def flat_pairs(fields: dict[str, Any]) -> list[Any]:
    """Write fields one after the other."""
    return [word for pair in fields.items() for word in pair]


async def note_creation(
    context: AsyncRedisContext, owner: str, session: str, claim: bytes, fields: dict[str, Any]
) -> RedisSessionRow:
    """Note where a new session is, and when it is due to be looked at, if it can expire."""
    context.directory.remember(owner, session, claim)
    if fields["x"] != "":
        await context.client.run("ZADD", context.keys.owner(owner, "due"), fields["x"], session)
    # Somebody may have erased the owner since the name was claimed.
    _, stands = await context.client.run_all(
        [
            ("SADD", context.keys.owners, owner),
            ("HGET", context.keys.owner(owner, "d"), session),
        ]
    )
    if stands != claim:
        await _begin_again(context, owner, session, claim)
    as_bytes = {
        name.encode(): it if isinstance(it, bytes) else str(it).encode()
        for name, it in fields.items()
    }
    return RedisSessionRow(session, as_bytes)

"""The row of a new session, and what is noted once it is there."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ....model import NewSession
from ....rules.codec import encode_json
from ..rows import Profile, Row, encode_profile
from .context import AsyncContext
from .link import Command
from .retiring import delete_session
from .tree import Look, MovedError

_EMPTY = {"tip": "", "ti": "", "raw": 0, "c": 0, "m": 0, "ver": 1, "fk": "", "inh": "", "ov": 0}


async def fields_of(context: AsyncContext, new: NewSession, source: Look | None) -> dict[str, Any]:
    """Give the fields of a session that has no place yet."""
    now = await context.now()
    created = now if new.created_us is None else new.created_us
    data = source.row.data if source else b"{}"
    return {
        **_EMPTY,
        "p": encode_profile(_profile(new, source)),
        "data": data if new.data is UNSET else encode_json(new.data, "data"),
        "cr": created,
        "act": created,
        "x": "" if context.ttl_us is None else now + context.ttl_us,
    }


def _profile(new: NewSession, source: Look | None) -> Profile:
    base = source.row.profile if source else Profile()
    kind, parent = ("branch", source.row.id) if source else (None, None)
    if new.parent is not None:
        kind, parent = new.parent.kind.value, new.parent.session
    return Profile(
        title=new.title,
        state=new.state,
        tags=base.tags if new.tags is UNSET else list(new.tags),
        budget=base.budget if new.budget is UNSET else new.budget,
        parent=parent,
        parent_kind=kind,
    )


def begin_tree(context: AsyncContext, tree: str, owner: str, version: int) -> Command:
    """Give the command that begins a tree.

    It begins with a time for its version, so that those of a deleted session are not used again.
    """
    fields = {"v": version, "a": 0, "n": 0, "h": 1, "owner": owner}
    return ("HSET", context.key(tree, "t"), *flat_pairs(fields))


def add_session(
    context: AsyncContext, tree: str, session: str, fields: dict[str, Any]
) -> list[Command]:
    """Give the commands that add a session to a tree."""
    return [
        ("HSET", context.key(tree, "m"), fields["h"], session),
        ("HSET", context.key(tree, f"s:{session}"), *flat_pairs(fields)),
    ]


async def _begin_again(context: AsyncContext, owner: str, session: str, claim: bytes) -> None:
    """Remove a session whose name was taken away before it was there, and make another."""
    tree = context.directory.remember(owner, session, claim)
    if await context.link.run("EXISTS", context.key(tree, f"s:{session}")):
        await delete_session(context, owner, session, tree)
        raise MovedError


def claimed(claim: bytes, fields: dict[str, Any], home: int) -> dict[str, Any]:
    """Add the numbers that a session gets with its claim."""
    return {**fields, "h": home, "n": claim.split(b" ")[1].decode()}


def deadline_of(claim: bytes) -> str:
    """Tell until when a claimed session may be created."""
    return claim.split(b" ")[2].decode()


def flat_pairs(fields: dict[str, Any]) -> list[Any]:
    """Write fields one after the other."""
    return [word for pair in fields.items() for word in pair]


async def created(
    context: AsyncContext, owner: str, session: str, claim: bytes, fields: dict[str, Any]
) -> Row:
    """Remember where a session is, and when it is due to be looked at, if it can expire."""
    context.directory.remember(owner, session, claim)
    if fields["x"] != "":
        await context.link.run("ZADD", context.keys.owner(owner, "due"), fields["x"], session)
    # Somebody may have erased the owner since the name was claimed.
    _, stands = await context.link.run_all(
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
    return Row(session, as_bytes)

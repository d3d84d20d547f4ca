"""The creation of a session: its name is claimed in the directory, then it is made in its tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ....model import CHAT, ForkPoint, NewSession, Root
from ....rules.codec import encode_json
from ....rules.system import encode_system
from ...base.refusals import no_message
from ..entries import split_entry
from ..look import Look
from ..rows import (
    RedisProfile,
    RedisSessionRow,
    document_of,
    encode_document,
    encode_row,
    stored_fields,
)
from .client import RedisCommand
from .context import AsyncRedisContext, MovedError, NameClaim, flat_pairs
from .deletion import delete_session

_EMPTY = {"tip": "", "ti": "", "raw": 0, "c": 0, "m": 0, "fk": "", "inh": "", "ov": 0}


class RedisForkPoint(NamedTuple):
    """A fork point: its place, the sum from the root as it was appended, its id, and its data."""

    segment: int
    depth: int
    above: int
    raw: int
    id: str
    data: str


async def create_empty(context: AsyncRedisContext, owner: str, new: NewSession) -> RedisSessionRow:
    """Create a session without messages, in a tree of its own; return its row."""
    tree = context.new_id()
    fields = await fields_of(context, new, None)
    claim = await context.directory.claim(owner, new, tree)
    fields = with_numbers(claim, fields, 1)
    now = claim.now if context.clock is None else context.clock()
    commands = [
        begin_tree(context, tree, owner, claim.now),
        *add_session(context, tree, new.id, fields, now),
    ]
    await make(context, tree, claim.entry, commands)
    return await note_creation(context, owner, new.id, claim.entry, fields)


async def create_fork(
    context: AsyncRedisContext,
    owner: str,
    new: NewSession,
    look: Look,
    at: RedisForkPoint | None,
) -> RedisSessionRow:
    """Make a fork in the tree of its source: no message is copied."""
    fields, overlays = await fields_of(context, new, look), list[bytes]()
    if at is not None:
        homes, overlays, _ = await inherited(context, look, at)
        is_sum = not (look.is_edited or overlays)
        fields |= {
            "tip": f"{at.segment} {at.depth} {at.above} 0",
            "ti": at.id,
            "raw": at.raw,
            "da": at.data,
            "c": at.raw if is_sum else "",
            "fk": f"{at.segment} {at.depth}",
            "inh": b" ".join(homes),
            "ov": len(overlays),
        }
    documents = await documents_of(context, look)
    claim = await context.directory.claim(owner, new, look.tree)
    fields = with_numbers(claim, fields, look.homes + 1)
    number, key = fields["n"], context.key
    # A session of this name may have been in a younger tree: its documents' versions are used up.
    version = max(look.version, claim.now) + 1
    commands: list[RedisCommand] = [
        ("HSET", key(look.tree, "t"), "h", look.homes + 1, "v", version - 1),
        *add_session(context, look.tree, new.id, fields, look.now),
        *(("ZADD", key(look.tree, f"v:{number}"), 0, member) for member in overlays),
        *(("HINCRBY", key(look.tree, "wr"), member[32:], 1) for member in overlays),
        *put_documents(context, look.tree, number, documents, version),
    ]
    try:
        await make(context, look.tree, claim.entry, commands, str(look.version))
    except MovedError:
        await context.directory.release(owner, new.id, claim.entry)
        raise
    return await note_creation(context, owner, new.id, claim.entry, fields)


async def find_fork_point(
    context: AsyncRedisContext, owner: str, fork: ForkPoint
) -> tuple[Look, RedisForkPoint | None]:
    """Look at the source, and at where the fork goes on; None is the root."""
    message = fork.message
    ids = [message] if isinstance(message, str) else []
    look = await context.directory.look(owner, fork.session, ids)
    if isinstance(message, Root):
        return look, None
    if message is None:
        tip = look.row["tip"].split()
        if not tip:
            return look, None
        return look, RedisForkPoint(
            int(tip[0]),
            int(tip[1]),
            int(tip[2]),
            int(look.row["raw"]),
            look.row["ti"],
            look.row.data,
        )
    found = look.places[0]
    if found is None:
        raise no_message(fork.session, message)
    head, _ = split_entry(found.entry)
    return look, RedisForkPoint(
        found.segment, found.depth, found.above, head.raw, message, head.data
    )


async def inherited(context: AsyncRedisContext, look: Look, at: RedisForkPoint) -> Sequence[Any]:
    """Return what a fork takes: the homes on its path, the overlays in force there, the path."""
    args = (look.row.number, at.segment, at.depth, look.version)
    answer: Sequence[Any] | None = await context.client.run_script(
        "inheritance", [context.keys.tree(look.tree)], *args
    )
    if answer is None:
        raise MovedError
    return answer


async def fields_of(
    context: AsyncRedisContext, new: NewSession, source: Look | None
) -> dict[str, Any]:
    """Return the fields of a session that has no place yet."""
    now = await context.now()
    created = now if new.created_us is None else new.created_us
    base = source.row.profile if source else RedisProfile()
    kind, parent = ("branch", source.row.id) if source else (None, None)
    if new.parent is not None:
        kind, parent = new.parent.kind.value, new.parent.session
    profile = RedisProfile(
        title=new.title,
        kind=base.kind if new.kind is UNSET else new.kind,
        state=new.state,
        tags=base.tags if new.tags is UNSET else list(new.tags),
        budget=base.budget if new.budget is UNSET else new.budget,
        model=base.model if new.model is UNSET else new.model,
        source=base.source if new.source is UNSET else new.source,
        end_reason=new.end_reason,
        parent=parent,
        parent_kind=kind,
    )
    attributes = source.row.attributes if source else b"{}"
    if new.attributes is not UNSET:
        attributes = encode_json(new.attributes, "attributes")
    return {
        **_EMPTY,
        "p": encode_row(profile),
        "attributes": attributes,
        "sys": encode_system(new.system),
        "cr": created,
        "act": created,
        "up": now,
        "x": "" if context.ttl_us is None or profile.kind != CHAT else now + context.ttl_us,
    }


def with_numbers(claim: NameClaim, fields: dict[str, Any], home: int) -> dict[str, Any]:
    """Add the numbers that a session gets with its claim."""
    number = claim.entry.split(b" ")[1].decode()
    return {**fields, "h": home, "n": number, "ver": claim.version}


def begin_tree(context: AsyncRedisContext, tree: str, owner: str, version: int) -> RedisCommand:
    """Return the command that begins a tree.

    It begins with a time for its version, so that those of a deleted session are not used again.
    """
    fields = {"v": version, "a": 0, "n": 0, "h": 1, "owner": owner}
    return ("HSET", context.key(tree, "t"), *flat_pairs(fields))


def add_session(
    context: AsyncRedisContext, tree: str, session: str, fields: dict[str, Any], now: int
) -> list[RedisCommand]:
    """Return the commands that add a session to a tree, and tell of it."""
    return [
        ("HSET", context.key(tree, "m"), fields["h"], session),
        ("HSET", context.key(tree, f"s:{session}"), *flat_pairs(fields)),
        context.tell(tree, session, fields["ver"], now),
    ]


async def documents_of(context: AsyncRedisContext, look: Look) -> dict[bytes, bytes]:
    """Return a session's documents, as they are stored."""
    key = context.key(look.tree, f"k:{look.row.number}")
    found: dict[bytes, bytes] = await context.client.run("HGETALL", key)
    return found


def put_documents(
    context: AsyncRedisContext, tree: str, number: str, documents: dict[bytes, bytes], version: int
) -> list[RedisCommand]:
    """Return the commands that copy what is inherited, with a version of its own, and no leases."""
    key = context.key(tree, f"k:{number}")
    found = [document_of(name.decode(), stored) for name, stored in documents.items()]
    copies = [replace(it, version=version) for it in found if it.inherit and it.expires_us is None]
    return [("put", key, it.key, encode_document(it)) for it in copies]


async def make(
    context: AsyncRedisContext,
    tree: str,
    claim: bytes,
    commands: Sequence[RedisCommand],
    version: str = "",
) -> None:
    """Make a claimed session in a tree that is new, or is at a version, before the deadline."""
    deadline = claim.split(b" ")[2].decode()
    key = context.keys.tree(tree)
    await context.apply_at(key, version, commands, deadline=deadline, where=tree)


async def note_creation(
    context: AsyncRedisContext, owner: str, session: str, claim: bytes, fields: dict[str, Any]
) -> RedisSessionRow:
    """Note where a new session is, and when it is due to be looked at, if it can expire."""
    tree = context.directory.remember(owner, session, claim)
    if fields["x"] != "":
        await context.client.run("ZADD", context.keys.owner(owner, "due"), fields["x"], session)
    # Somebody may have erased the owner since the name was claimed.
    _, stands = await context.client.run_all(
        [
            ("SADD", context.keys.owners, owner),
            ("HGET", context.keys.owner(owner, "d"), session),
        ]
    )
    is_lost = stands != claim
    if is_lost and await context.client.run("EXISTS", context.key(tree, f"s:{session}")):
        # Its name was taken away before it was there: it goes, and another is made.
        await delete_session(context, owner, session, tree)
        raise MovedError
    return RedisSessionRow(session, stored_fields(fields))

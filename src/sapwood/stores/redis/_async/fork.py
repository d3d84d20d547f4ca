"""A fork: a session that goes on from another one's message, in its tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....model import NewSession
from ..document_row import document_of
from ..session_row import RedisSessionRow
from .client import RedisCommand
from .context import AsyncRedisContext
from .look import Look
from .new_session import add_session, deadline_of, note_creation, with_numbers
from .trees import MovedError


class RedisForkPoint(NamedTuple):
    """A fork point: its place, the sum from the root as it was appended, and its message's id."""

    segment: int
    depth: int
    above: int
    raw: int
    id: str


async def create_fork(
    context: AsyncRedisContext,
    owner: str,
    new: NewSession,
    look: Look,
    at: RedisForkPoint | None,
    fields: dict[str, Any],
) -> RedisSessionRow:
    """Make a fork in the tree of its source: no message is copied."""
    overlays: list[bytes] = []
    if at is not None:
        homes, overlays, _ = await inherited(context, look, at)
        fields = {**fields, **_standing(look, at, homes, overlays)}
    documents = await documents_of(context, look)
    claim, _ = await context.claim(owner, new.id, look.tree, new.created_us)
    fields = with_numbers(claim, fields, look.homes + 1)
    commands = [
        ("HSET", context.key(look.tree, "t"), "h", look.homes + 1),
        *add_session(context, look.tree, new.id, fields),
        *_put_in_force(context, look.tree, fields["n"], overlays),
        *put_documents(context, look.tree, fields["n"], documents, look.version + 1),
    ]
    try:
        await context.trees.create(
            look.tree, commands, context.new_id(), deadline_of(claim), str(look.version)
        )
    except MovedError:
        await context.directory.release(owner, new.id, claim)
        raise
    return await note_creation(context, owner, new.id, claim, fields)


async def inherited(context: AsyncRedisContext, look: Look, at: RedisForkPoint) -> Sequence[Any]:
    """Return what a fork takes: the homes on its path, the overlays in force there, the path."""
    args = (look.row.number, at.segment, at.depth, look.version)
    answer = await context.client.run_script("inheritance", [context.keys.tree(look.tree)], *args)
    if answer is None:
        raise MovedError
    found: Sequence[Any] = answer
    return found


def _standing(
    look: Look, at: RedisForkPoint, homes: list[bytes], overlays: list[bytes]
) -> dict[str, Any]:
    is_sum = not (look.is_edited or overlays)
    return {
        "tip": f"{at.segment} {at.depth} {at.above} 0",
        "ti": at.id,
        "raw": at.raw,
        "c": at.raw if is_sum else "",
        "fk": f"{at.segment} {at.depth}",
        "inh": b" ".join(homes),
        "ov": len(overlays),
    }


def _put_in_force(
    context: AsyncRedisContext, tree: str, number: str, overlays: list[bytes]
) -> list[RedisCommand]:
    commands: list[RedisCommand] = []
    for member in overlays:
        commands.append(("ZADD", context.key(tree, f"v:{number}"), 0, member))
        commands.append(("HINCRBY", context.key(tree, "wr"), member[32:], 1))
    return commands


async def documents_of(context: AsyncRedisContext, look: Look) -> dict[bytes, bytes]:
    """Return a session's documents, as they are stored."""
    key = context.key(look.tree, f"k:{look.row.number}")
    found: dict[bytes, bytes] = await context.client.run("HGETALL", key)
    return found


def put_documents(
    context: AsyncRedisContext, tree: str, number: str, documents: dict[bytes, bytes], version: int
) -> list[RedisCommand]:
    """Return the commands that copy documents, except leases; each gets a version of its own."""
    commands: list[RedisCommand] = []
    for name, stored in documents.items():
        document = document_of(name.decode(), stored)
        if document.expires_us is None:
            _, _, value = stored.partition(b"\n")
            head = f"{version} {document.updated_us} \n".encode()
            commands.append(("HSET", context.key(tree, f"k:{number}"), name, head + value))
    return commands

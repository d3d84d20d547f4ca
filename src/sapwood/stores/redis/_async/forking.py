"""Forking: a session that goes on from another one's message, in its tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....model import NewSession
from ..rows import Row, document_of
from .context import AsyncContext
from .link import Command
from .making import add_session, claimed, created, deadline_of
from .tree import Look, MovedError


class At(NamedTuple):
    """A fork point: its place, the sum from the root as it was appended, and its message's id."""

    segment: int
    depth: int
    above: int
    raw: int
    id: str


async def branch_off(
    context: AsyncContext,
    owner: str,
    new: NewSession,
    look: Look,
    at: At | None,
    fields: dict[str, Any],
) -> Row:
    """Make a fork in the tree of its source: no message is copied."""
    overlays: list[bytes] = []
    if at is not None:
        homes, overlays, _ = await inherited(context, look, at)
        fields = {**fields, **_standing(look, at, homes, overlays)}
    documents = await documents_of(context, look)
    claim, _ = await context.claim(owner, new.id, look.tree, new.created_us)
    fields = claimed(claim, fields, look.homes + 1)
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
    return await created(context, owner, new.id, claim, fields)


async def inherited(context: AsyncContext, look: Look, at: At) -> Sequence[Any]:
    """Give what a fork takes: the homes on its path, the overlays in force there, the path."""
    args = (look.row.number, at.segment, at.depth, look.version)
    answer = await context.link.ask("inherit", [context.keys.tree(look.tree)], *args)
    if answer is None:
        raise MovedError
    found: Sequence[Any] = answer
    return found


def _standing(look: Look, at: At, homes: list[bytes], overlays: list[bytes]) -> dict[str, Any]:
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
    context: AsyncContext, tree: str, number: str, overlays: list[bytes]
) -> list[Command]:
    commands: list[Command] = []
    for member in overlays:
        commands.append(("ZADD", context.key(tree, f"v:{number}"), 0, member))
        commands.append(("HINCRBY", context.key(tree, "wr"), member[32:], 1))
    return commands


async def documents_of(context: AsyncContext, look: Look) -> dict[bytes, bytes]:
    """Give a session's documents, as they are stored."""
    key = context.key(look.tree, f"k:{look.row.number}")
    found: dict[bytes, bytes] = await context.link.run("HGETALL", key)
    return found


def put_documents(
    context: AsyncContext, tree: str, number: str, documents: dict[bytes, bytes], version: int
) -> list[Command]:
    """Give the commands that copy documents, except leases; each gets a version of its own."""
    commands: list[Command] = []
    for name, stored in documents.items():
        document = document_of(name.decode(), stored)
        if document.expires_us is None:
            _, _, value = stored.partition(b"\n")
            head = f"{version} {document.updated_us} \n".encode()
            commands.append(("HSET", context.key(tree, f"k:{number}"), name, head + value))
    return commands

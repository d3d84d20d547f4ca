"""The creation of a session: its name is claimed in the directory, then it is made in its tree."""

from __future__ import annotations

from ....model import ForkPoint, NewSession, Root
from ...base.refusals import no_message
from ..entries import split_entry
from ..session_row import RedisSessionRow
from .context import AsyncRedisContext
from .detached_fork import create_detached_fork
from .fork import RedisForkPoint, create_fork
from .look import Look
from .new_session import (
    add_session,
    begin_tree,
    deadline_of,
    fields_of,
    note_creation,
    with_numbers,
)


async def create_session(
    context: AsyncRedisContext, owner: str, new: NewSession
) -> RedisSessionRow:
    """Create a session, empty or as a fork; return its row."""
    if new.fork is None:
        return await _begin(context, owner, new)
    look, at = await _fork_point(context, owner, new.fork)
    fields = await fields_of(context, new, look)
    make = create_detached_fork if new.fork.detach else create_fork
    return await make(context, owner, new, look, at, fields)


async def _begin(context: AsyncRedisContext, owner: str, new: NewSession) -> RedisSessionRow:
    tree = context.new_id()
    fields = await fields_of(context, new, None)
    claim, clock = await context.claim(owner, new.id, tree, new.created_us)
    fields = with_numbers(claim, fields, 1)
    commands = [
        begin_tree(context, tree, owner, clock),
        *add_session(context, tree, new.id, fields),
    ]
    await context.trees.create(tree, commands, context.new_id(), deadline_of(claim))
    return await note_creation(context, owner, new.id, claim, fields)


async def _fork_point(
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
            int(tip[0]), int(tip[1]), int(tip[2]), int(look.row["raw"]), look.row["ti"]
        )
    found = look.places[0]
    if found is None:
        raise no_message(fork.session, message)
    head, _ = split_entry(found.entry)
    return look, RedisForkPoint(found.segment, found.depth, found.above, head.raw, message)

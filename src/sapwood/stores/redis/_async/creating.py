"""Creating sessions: the name is claimed in the directory, then the session is made in its tree."""

from __future__ import annotations

from ....model import ForkPoint, NewSession, Root
from ..rows import Row, no_message, split_entry
from .context import AsyncContext
from .detaching import detach
from .forking import At, branch_off
from .making import add_session, begin_tree, claimed, created, deadline_of, fields_of
from .tree import Look


async def create_session(context: AsyncContext, owner: str, new: NewSession) -> Row:
    """Create a session, empty or as a fork; give its row."""
    if new.fork is None:
        return await _begin(context, owner, new)
    look, at = await _fork_point(context, owner, new.fork)
    fields = await fields_of(context, new, look)
    make = detach if new.fork.detach else branch_off
    return await make(context, owner, new, look, at, fields)


async def _begin(context: AsyncContext, owner: str, new: NewSession) -> Row:
    tree = context.new_id()
    fields = await fields_of(context, new, None)
    claim, clock = await context.claim(owner, new.id, tree, new.created_us)
    fields = claimed(claim, fields, 1)
    commands = [
        begin_tree(context, tree, owner, clock),
        *add_session(context, tree, new.id, fields),
    ]
    await context.trees.create(tree, commands, context.new_id(), deadline_of(claim))
    return await created(context, owner, new.id, claim, fields)


async def _fork_point(context: AsyncContext, owner: str, fork: ForkPoint) -> tuple[Look, At | None]:
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
        return look, At(int(tip[0]), int(tip[1]), int(tip[2]), int(look.row["raw"]), look.row["ti"])
    found = look.places[0]
    if found is None:
        raise no_message(fork.session, message)
    head, _ = split_entry(found.entry)
    return look, At(found.segment, found.depth, found.above, head.raw, message)

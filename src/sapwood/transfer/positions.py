"""Finding what stands at a position, or under an id: a message, or the gap that one left."""

from __future__ import annotations

from ..errors import NotFoundError
from ..model import Gap, Message, Position, Read
from ..store import Store

MessageOrGap = Message | Gap


def find_at(
    store: Store, owner: str, session: str, leaf: str, position: Position
) -> MessageOrGap | None:
    """Find what stands at a position; None if that is not on the path to the leaf."""
    depth = position.depth
    query = Read(leaf=leaf, overlays=False, after=depth - 1, before=depth + 1, limit=1)
    found: list[MessageOrGap] = [*store.read(owner, session, query).messages_only]
    found = found or [*store.list_gaps(owner, session, leaf, after=depth - 1)[:1]]
    return found[0] if found and found[0].position == position else None


def find_named(store: Store, owner: str, session: str, id: str) -> MessageOrGap | None:
    """Find what a session sees under an id."""
    [message] = store.find_messages(owner, session, [id])
    return message or find_gap(store, owner, session, id)


def find_gap(store: Store, owner: str, session: str, id: str) -> Gap | None:
    """Find the gap that a session sees under an id; None for a message, and for nothing."""
    try:
        above = store.read(owner, session, Read(leaf=id, overlays=False, limit=1, backwards=True))
        depth = above.messages_only[0].depth if above.messages_only else 0
        gaps = store.list_gaps(owner, session, id, after=depth)
    except NotFoundError:
        return None
    return gaps[-1] if gaps else None

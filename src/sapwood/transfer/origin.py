"""Where a session came from: the session in the same file that a fork can be made of again."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..model import Leaf, Message, Read, SessionRecord
from ..store import Store
from .lines import Origin


def find_origin(
    store: Store, owner: str, record: SessionRecord, leaves: Sequence[Leaf], others: Container[str]
) -> Origin | None:
    """Find the session, among others, that a fork came out of, and the message."""
    point = _fork_point(store, owner, record, leaves)
    if point is None:
        return None
    for name in (record.parent.session if record.parent else None, point.home):
        if name is None or name == record.id or name not in others:
            continue
        if store.find_session(owner, name) is None:
            continue
        [seen] = store.find_messages(owner, name, [point.id])
        if seen is not None and seen.position == point.position:
            return Origin(session=name, message=point.id)
    return None


def _fork_point(
    store: Store, owner: str, record: SessionRecord, leaves: Sequence[Leaf]
) -> Message | None:
    """Find the message that a fork goes on from, or if it was deleted the nearest live above.

    All that a fork inherited lies on the path to its fork point: it is the deepest of it.
    """
    if record.forked_at is None:
        return None
    found: Message | None = None
    for leaf in leaves:
        query = Read(
            leaf=leaf.id,
            overlays=False,
            before=record.forked_at.depth + 1,
            limit=1,
            backwards=True,
        )
        for message in store.read(owner, record.id, query).messages:
            if message.position == record.forked_at:
                return message
            if message.home != record.id and (found is None or message.depth > found.depth):
                found = message
    return found

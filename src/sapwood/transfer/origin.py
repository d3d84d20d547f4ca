"""Where a session came from: the session in the same file that a fork can be made of again."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..model import Leaf, SessionRecord
from ..store import Store
from .lines import Origin
from .positions import MessageOrGap, find_at, find_named


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
        seen = find_named(store, owner, name, point.id)
        if seen is not None and seen.position == point.position:
            return Origin(session=name, message=point.id)
    return None


def _fork_point(
    store: Store, owner: str, record: SessionRecord, leaves: Sequence[Leaf]
) -> MessageOrGap | None:
    """Find the message that a fork goes on from, deleted or not."""
    point = record.forked_at
    if point is None:
        return None
    for leaf in leaves:
        if leaf.position.depth >= point.depth:
            found = find_at(store, owner, record.id, leaf.id, point)
            if found is not None:
                return found
    return None

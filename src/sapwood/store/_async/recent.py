"""The ends of sessions' paths, read session by session: for stores that have no way of their own.

Two paths are compared here, too, whose trails do not tell how deep they go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import NotFoundError
from ...model import Position, Read, ReadMark, Recent, Root
from ...rules import document_checks
from ...rules.recent import RECENT_MESSAGES, RECENT_PLACES, TOOL, trail_of

if TYPE_CHECKING:
    from .contract import AsyncStore


async def recent_by_reads(
    store: AsyncStore, owner: str, sessions: Sequence[str], document: str | None
) -> list[Recent | None]:
    """Find the ends of the paths to sessions' tips, with a few reads of each."""
    document_checks.recent(owner, sessions, document)
    return [await _recent(store, owner, it, document) for it in sessions]


async def _recent(
    store: AsyncStore, owner: str, session: str, document: str | None
) -> Recent | None:
    while True:
        try:
            return await _attempt(store, owner, session, document)
        except NotFoundError as error:
            if error.kind == "session":
                return None
            # The session was cleared since its tip was read: there is another one.


async def _attempt(
    store: AsyncStore, owner: str, session: str, document: str | None
) -> Recent | None:
    record = await store.find_session(owner, session)
    if record is None:
        return None
    kept = None
    if document is not None:
        kept = await store.find_document(owner, document, session=session)
    tip = record.tip_position
    if tip is None:
        return Recent(tip=record.tip, document=kept)
    above = max(0, tip.depth - RECENT_PLACES)
    window = Read(leaf=record.tip, overlays=False, after=above, backwards=True, bodies=False)
    live = (await store.read(owner, session, window)).messages_only
    ids = [it.id for it in live if it.role != TOOL][-RECENT_MESSAGES:]
    found = await store.find_messages(owner, session, ids) if ids else []
    depths = {it.depth for it in live}
    return Recent(
        tip=record.tip,
        messages=[replace(it, data_at=None) for it in found if it is not None],
        empty=[depth for depth in range(above + 1, tip.depth + 1) if depth not in depths],
        trail=trail_of(tip, reversed(live)),
        is_whole=above == 0,
        document=kept,
    )


async def common_depth_by_reads(
    store: AsyncStore, owner: str, session: str, recent: Recent, mark: ReadMark
) -> int:
    """Find how deep the path to a tip and that to a mark go together, by halving what is left.

    Places without a message are as if they were shared: they are not counted either.
    """
    same, differs = 0, min(recent.trail[0].depth, mark.depth) + 1 if recent.trail else 1
    try:
        while differs - same > 1:
            middle = (same + differs) // 2
            one = await _message_at(store, owner, session, recent.tip, middle)
            if one == await _message_at(store, owner, session, mark.message, middle):
                same = middle
            else:
                differs = middle
    except NotFoundError as error:
        if error.kind == "session":
            raise
        return 0  # It was cleared since; what was read is gone.
    return same


async def _message_at(
    store: AsyncStore, owner: str, session: str, leaf: str | Root, depth: int
) -> Position | None:
    """Return where the nearest message stands, at a depth of the path to a leaf or above it."""
    query = Read(leaf=leaf, overlays=False, before=depth + 1, limit=1, backwards=True, bodies=False)
    found = (await store.read(owner, session, query)).messages_only
    return found[0].position if found else None

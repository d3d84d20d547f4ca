"""Windows of a session's history, and where a place stands on a path."""

from __future__ import annotations

import msgspec

from ...errors import UsageError
from ...model import History, Message, Read, Root
from ..history_window import fewest, without_parted
from ..references import PlaceRef, check_place
from .stored_session import AsyncStoredSession


async def read_window(
    stored: AsyncStoredSession, query: Read, least: int = 1, *, whole_pairs: bool = True
) -> History:
    """Read a window, and a wider one where this one leaves too few entries."""

    async def read(limit: int | None) -> History:
        return await stored.read(msgspec.structs.replace(here, limit=limit))

    history = await stored.read(query)
    kept = without_parted(history, query) if whole_pairs else history
    if not history.more or len(kept.entries) >= least:
        return kept
    here = msgspec.structs.replace(query, leaf=history.leaf, max_bytes=None)
    if not whole_pairs:
        return await read(least)
    while history.more and fewest(history, query, least) is None:
        history = await read(2 * max(least, len(history.entries)))
    return without_parted(await read(fewest(history, query, least)), query)


async def depth_on_path(
    stored: AsyncStoredSession, place: PlaceRef, leaf: PlaceRef | None, what: str
) -> int:
    """Return the depth of a place on the path to a leaf: another branch's says nothing."""
    check_place(place, what)
    if isinstance(place, Root):
        return 0
    message = place if isinstance(place, Message) else await stored.get_message(place)
    if not await stored.is_on_path(message.id, message.depth, leaf):
        # The record that was handed in may be one from before a clear.
        message = await stored.get_message(message.id)
        if not await stored.is_on_path(message.id, message.depth, leaf):
            raise UsageError(
                f"{what} is message {message.id!r} of another branch: give a leaf below it",
                path=what,
            )
    return message.depth

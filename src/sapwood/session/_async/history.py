"""A session's history: read whole, in part, or as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from ...errors import UsageError
from ...model import Entry, History, Message, Read, Root, RowStatistic, Summary
from ...rules import check
from ...rules.codec import Body, encode_body
from ..history_window import fewest, past, without_parted
from ..references import PlaceRef, check_place, id_of
from .stored_session import AsyncStoredSession


class AsyncHistoryReader:
    """Reads the paths of one session."""

    __slots__ = ("_stored",)

    def __init__(self, stored: AsyncStoredSession) -> None:
        self._stored = stored

    async def read(
        self,
        leaf: PlaceRef | None = None,
        *,
        limit: int | None = None,
        overlays: bool = True,
        max_bytes: int | None = None,
        min_messages: int = 1,
        before: PlaceRef | None = None,
        after: PlaceRef | None = None,
        offset: int = 0,
        whole_pairs: bool = True,
    ) -> History:
        """Read a path as `Session.history` says."""
        check.whole(limit, "limit", 1)
        check.count(min_messages, "min_messages", 0)
        _check_offset(offset, whole_pairs)
        cuts = limit is not None or max_bytes is not None or offset > 0
        query = Read(
            leaf=id_of(leaf),
            overlays=overlays,
            limit=limit,
            max_bytes=max_bytes,
            after=await self._depth_on_path(after, leaf, "after") or 0,
            before=await self._depth_on_path(before, leaf, "before"),
            backwards=after is None and cuts,
        )
        if offset:
            skipped = await self._read(query, limit=offset, max_bytes=None)
            if not skipped.more:
                return msgspec.structs.replace(skipped, entries=[], bytes=0)
            query = past(skipped, query)
        least = min_messages if limit is None else min(min_messages, limit)
        return await self._window(query, max(1, least), whole_pairs)

    async def _window(self, query: Read, least: int, whole_pairs: bool) -> History:
        """Read a window, and a wider one where this one leaves too few entries."""
        history = await self._stored.read(query)
        kept = without_parted(history, query) if whole_pairs else history
        if not history.more or len(kept.entries) >= least:
            return kept
        here = msgspec.structs.replace(query, leaf=history.leaf, max_bytes=None)
        if not whole_pairs:
            return await self._read(here, limit=least)
        while history.more and fewest(history, query, least) is None:
            history = await self._read(here, limit=2 * max(least, len(history.entries)))
        history = await self._read(here, limit=fewest(history, query, least))
        return without_parted(history, query)

    async def _read(self, query: Read, **changes: Any) -> History:
        return await self._stored.read(msgspec.structs.replace(query, **changes))

    async def _depth_on_path(
        self, place: PlaceRef | None, leaf: PlaceRef | None, what: str
    ) -> int | None:
        """Return the depth of a place on the path to a leaf: another branch's says nothing."""
        if place is None:
            return None
        check_place(place, what)
        if isinstance(place, Root):
            return 0
        stored = self._stored
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

    async def iterate(
        self, leaf: PlaceRef | None, *, overlays: bool, page: int = 200
    ) -> AsyncIterator[Entry]:
        """Stream the path from its beginning, a page at a time."""
        check.count(page, "page", 1)
        place, depth, more = id_of(leaf), 0, True
        while more:
            query = Read(leaf=place, overlays=overlays, limit=page, after=depth)
            history = await self._stored.read(query)
            for entry in history.entries:
                depth = entry.depth
                yield entry
            place, more = history.leaf, history.more

    async def row_statistics(self, leaf: PlaceRef | None) -> list[RowStatistic]:
        """List the size of each message on a path, without overlays."""
        return [
            RowStatistic(
                id=entry.id,
                role=entry.role,
                bytes=len(encode_body(Body(entry.parts, entry.metadata))),
                tokens=entry.tokens,
            )
            async for entry in self.iterate(leaf, overlays=False)
            if not isinstance(entry, Summary)
        ]


def _check_offset(offset: int, whole_pairs: bool) -> None:
    check.count(offset, "offset", 0)
    check.instance(whole_pairs, bool, "whole_pairs")
    if offset and whole_pairs:
        raise UsageError(
            "offset counts entries, whatever that parts: give whole_pairs=False with it, "
            "or page by before or after",
            path="offset",
        )

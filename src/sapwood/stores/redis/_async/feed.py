"""The change feed: an owner's list, to which the trees' changes are added when it is read."""

from __future__ import annotations

from ....errors import NotFoundError, UsageError
from ....model import Change, ChangeKind, Changes
from ...base.refusals import cursor_ahead
from ..rows import SEP
from .context import AsyncContext
from .tending import tell_all

KEPT_AT_LEAST_US = 86_400_000_000
_KINDS = {
    "A": ChangeKind.APPEND,
    "U": ChangeKind.UPDATE,
    "D": ChangeKind.DELETE,
    "R": ChangeKind.RETIRE,
}


class AsyncRedisFeed:
    """Work on the change feed."""

    def __init__(self, context: AsyncContext) -> None:
        self._context = context

    async def changes(self, owner: str, after: str, limit: int) -> Changes:
        """Read a page."""
        start = _read_cursor(after)
        await tell_all(self._context, owner)
        key = self._context.keys.owner(owner)
        base, end, lines = await self._context.link.ask("feed", [key], start, limit)
        _refuse_lost(after, start, int(base), int(end))
        start = max(start, int(base))
        cursor = start + len(lines)
        return Changes(
            changes=[_change(line) for line in lines],
            cursor=str(cursor) if cursor else after,
            more=cursor < int(end),
        )

    async def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""
        start = _read_cursor(after)
        key = self._context.keys.owner(owner)
        base, end, _ = await self._context.link.ask("feed", [key], start, 0)
        _refuse_lost(after, start, int(base), int(end))
        await self._context.link.run("HSET", self._context.keys.owner(owner, "r"), reader, start)


async def trim_feed(context: AsyncContext, owner: str) -> None:
    """Remove what every registered reader has seen and is old enough."""
    until = await context.now() - KEPT_AT_LEAST_US
    while await context.link.ask("trim", [context.keys.owner(owner)], until):
        continue


def _read_cursor(after: str) -> int:
    if not after:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) <= 16):
        raise UsageError(f"{after!r} is not a cursor of this feed", path="after")
    return int(after)


def _refuse_lost(after: str, start: int, base: int, end: int) -> None:
    if start > end:
        raise cursor_ahead(after)
    if after and start < base:
        raise NotFoundError(
            f"the feed was trimmed behind the cursor {after!r}: "
            "read everything, then go on from the feed's beginning",
            kind="cursor",
            id=after,
        )


def _change(line: bytes) -> Change:
    kind, session, message, depth, at = line.decode().split(SEP)
    return Change(
        kind=_KINDS[kind],
        session=session,
        message=message or None,
        depth=int(depth) if depth else None,
        at_us=int(at),
    )

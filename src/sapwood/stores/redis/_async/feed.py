"""The change feed: an owner's list, to which the trees' changes are added when it is read."""

from __future__ import annotations

from ....model import Change, ChangeKind, Changes
from ...base.refusals import bad_feed_cursor, cursor_ahead, feed_trimmed
from ..rows import SEP
from .context import AsyncRedisContext, AsyncRedisWork
from .maintenance import publish_all

KEPT_AT_LEAST_US = 86_400_000_000
_KINDS = {
    "A": ChangeKind.APPEND,
    "U": ChangeKind.UPDATE,
    "D": ChangeKind.DELETE,
    "R": ChangeKind.RETIRE,
}


class AsyncRedisFeed(AsyncRedisWork):
    """Work on the change feed."""

    async def changes(self, owner: str, after: str, limit: int) -> Changes:
        """Read a page."""
        start = _read_cursor(after)
        await publish_all(self._context, owner)
        base, end, lines = await self._read(owner, after, start, limit)
        cursor = max(start, base) + len(lines)
        return Changes(
            changes=[_change(line) for line in lines],
            cursor=str(cursor) if cursor else after,
            more=cursor < end,
        )

    async def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""
        start = _read_cursor(after)
        await self._read(owner, after, start, 0)
        await self._context.client.run("HSET", self._context.keys.owner(owner, "r"), reader, start)

    async def _read(
        self, owner: str, after: str, start: int, limit: int
    ) -> tuple[int, int, list[bytes]]:
        """Return where the feed begins and ends, and changes; refuse a cursor that is lost."""
        key = self._context.keys.owner(owner)
        base, end, lines = await self._context.client.run_script("read_feed", [key], start, limit)
        if start > int(end):
            raise cursor_ahead(after)
        if after and start < int(base):
            raise feed_trimmed(after)
        return int(base), int(end), lines


async def trim_feed(context: AsyncRedisContext, owner: str) -> None:
    """Remove what every registered reader has seen and is old enough."""
    until = await context.now() - KEPT_AT_LEAST_US
    while await context.client.run_script("trim_feed", [context.keys.owner(owner)], until):
        continue


def _read_cursor(after: str) -> int:
    if not after:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) <= 16):
        raise bad_feed_cursor(after)
    return int(after)


def _change(line: bytes) -> Change:
    kind, session, message, depth, at = line.decode().split(SEP)
    return Change(
        kind=_KINDS[kind],
        session=session,
        message=message or None,
        depth=int(depth) if depth else None,
        at_us=int(at),
    )

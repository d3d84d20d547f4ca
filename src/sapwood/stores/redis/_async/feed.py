"""The change feed: an owner's list, to which the trees' changes are added when it is read."""

from __future__ import annotations

from ....model import Change, ChangeKind, Changes, Position
from ...base.feed_age import KEPT_AT_LEAST_US, KEPT_AT_MOST_US
from ...base.refusals import bad_feed_cursor, cursor_ahead, feed_trimmed
from ..entries import SEP
from .context import AsyncRedisContext, AsyncRedisWork
from .maintenance import publish_all

_KINDS = {
    "A": ChangeKind.APPEND,
    "U": ChangeKind.UPDATE,
    "D": ChangeKind.DELETE,
    "R": ChangeKind.RETIRE,
    "C": ChangeKind.RECORD,
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

    async def newest(self, owner: str) -> str:
        """Return the cursor behind all that is there, which is published first."""
        await publish_all(self._context, owner)
        _, end, _ = await self._read(owner, "", 0, 0)
        return str(end) if end else ""

    async def forget(self, owner: str, reader: str) -> bool:
        """Let a reader hold nothing back any more."""
        return bool(
            await self._context.client.run("HDEL", self._context.keys.owner(owner, "r"), reader)
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
    """Remove what every registered reader has seen and is old enough, and readers that are lost."""
    now, key = await context.now(), [context.keys.owner(owner)]
    ages = (now - KEPT_AT_LEAST_US, now - KEPT_AT_MOST_US)
    while await context.client.run_script("trim_feed", key, *ages):
        continue


def _read_cursor(after: str) -> int:
    if not after:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) <= 16):
        raise bad_feed_cursor(after)
    return int(after)


def _change(line: bytes) -> Change:
    kind, session, message, depth, *more, at = line.decode().split(SEP)
    # What was published before has no more than that.
    segment, tree, version = more or ("", "", 0)
    return Change(
        kind=_KINDS[kind],
        session=session,
        message=message or None,
        tree=tree,
        position=Position(segment, int(depth)) if depth else None,
        version=int(version),
        at_us=int(at),
    )

"""Reading the end of a path by plain commands, where all that is asked for lies in one list.

What a script reads is converted twice, and one command costs less than one script. So the list is
asked for where the tip was the last time, beside the session's record, which says where it is now.
The tree's version, read before and after, says that nothing but appends came between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....model import History, Read
from ..history import history_of_end
from .client import RedisCommand
from .context import AsyncRedisContext

MOST_REMEMBERED = 10_000
_RECORD = ("tip", "ti", "c", "ov", "x")


class TipLocation(NamedTuple):
    """Where the tip of a session was: its segment, its depth, and how much is above the segment."""

    segment: bytes
    depth: int
    above: int
    expires: bool


class AsyncPathEnds:
    """Reads the ends of paths by plain commands, and remembers where they were."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self._context = context
        self._known: dict[tuple[str, str, bool], TipLocation] = {}

    def remember(self, tree: str, session: str, query: Read, found: bytes) -> None:
        """Remember where a script found the tip; an empty text says that it has to be a script."""
        key = (tree, session, query.overlays)
        if not found:
            self._known.pop(key, None)
            return
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        segment, depth, above, expires = found.split(b" ")
        self._known[key] = TipLocation(segment, int(depth), int(above), expires == b"1")

    async def read(self, tree: str, session: str, query: Read) -> History | None:
        """Read the end of a path; None when a script has to."""
        where = self._known.get((tree, session, query.overlays))
        if where is None or not is_end(query) or not self._may_be_enough(where, query):
            return None
        answers = await self._context.client.fetch(self._commands(tree, session, where, query))
        version, record, stored, length, version_then, *time = answers
        if any(isinstance(it, Exception) for it in answers) or version_then != version:
            return None
        if not self._is_there(where, record, query, time):
            return None
        return history_of_end(session, query, version, record, stored, length)

    def _may_be_enough(self, where: TipLocation, query: Read) -> bool:
        """Whether nothing above the tip's segment is asked for."""
        if where.expires and self._context.clock is None and self._context.client.is_cluster:
            return False  # A command without a key goes to any node, whose clock may differ.
        return not where.above or (
            query.limit is not None and query.limit < where.depth - where.above
        )

    def _commands(
        self, tree: str, session: str, where: TipLocation, query: Read
    ) -> list[RedisCommand]:
        version = ("HGET", self._context.key(tree, "t"), "v")
        record = ("HMGET", self._context.key(tree, f"s:{session}"), *_RECORD)
        first = 0 if query.limit is None else -query.limit - 1
        key = self._context.key(tree, f"b:{where.segment.decode()}")
        commands: list[RedisCommand] = [version, record, ("LRANGE", key, first, -1), ("LLEN", key)]
        commands.append(version)
        if where.expires and self._context.clock is None:
            commands.append(("TIME",))
        return commands

    def _is_there(
        self, where: TipLocation, record: Sequence[bytes], query: Read, time: Sequence[Any]
    ) -> bool:
        """Whether a record says that the tip is in the list that was read, and no more."""
        tip, _, context, overlays, expires = record
        if not tip or not context or (query.overlays and overlays != b"0"):
            return False
        segment, _, above, is_own = tip.split(b" ")
        if segment != where.segment or int(above) != where.above or is_own != b"1":
            return False
        return not expires or self._is_before(int(expires), time)

    def _is_before(self, deadline_us: int, time: Sequence[Any]) -> bool:
        """Whether it is not yet so late; when the time is not known, it may be."""
        if self._context.clock is not None:
            return self._context.clock() < deadline_us
        if not time:
            return False
        seconds, micros = time[0]
        return int(seconds) * 1_000_000 + int(micros) < deadline_us


def is_end(query: Read) -> bool:
    """Whether the path to the tip is asked for, or the last so many of it."""
    if query.limit is None:
        return query == Read(overlays=query.overlays)
    return query == Read(overlays=query.overlays, limit=query.limit, backwards=True)

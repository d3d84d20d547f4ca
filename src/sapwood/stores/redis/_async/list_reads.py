"""Reading paths by plain commands: what a script reads is converted twice, and costs more.

The end of a path, or all of it where it lies in one list, takes no script at all. The list is asked
for where the tip was the last time, beside the session's record, which says where it is now. A
whole path with forks is read as lists where they were the last time, beside the script that says
where they are now. The tree's version, read at the end once more, says that nothing but appends
came between; what was appended meanwhile is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....model import Entry, History, Read
from ...base.bounded_dict import BoundedDict
from ..entries import position_of, take_messages
from ..history import history_of_end
from ..rows import id_or_root, name_of
from .client import RedisCommand, ScriptCall
from .context import AsyncRedisContext

MOST_REMEMBERED = 10_000
_RECORD = ("tip", "ti", "c", "ov", "x", "da")

Shown = tuple[str, str, bool]
"""A tree, a session in it, and whether overlays are shown."""


class TipLocation(NamedTuple):
    """Where the tip of a session was: its segment, its depth, and how much is above the segment."""

    segment: bytes
    depth: int
    above: int
    expires: bool


class PathRun(NamedTuple):
    """A part of a path: a run of messages in one segment."""

    segment: int
    first: int
    last: int
    above: int
    home: bytes | None


PathRuns = Sequence[PathRun]


class AsyncListReads:
    """Reads paths as lists, and remembers where these were."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self._context = context
        self._tips = BoundedDict[Shown, TipLocation](MOST_REMEMBERED)
        self._runs = BoundedDict[tuple[str, str], PathRuns](MOST_REMEMBERED)
        self._needs_script = BoundedDict[Shown, None](MOST_REMEMBERED)

    async def read(self, tree: str, session: str, query: Read) -> History | None:
        """Read a path; None when a script has to."""
        if not _is_end(query):
            return None
        history = await self._read_end(tree, session, query)
        if history is None and query.limit is None:
            history = await self._read_whole(tree, session, query)
        return history

    def note(self, tree: str, session: str, query: Read, tip: bytes) -> None:
        """Note where the script that read a path found its tip."""
        if _is_end(query):
            self._remember_tip((tree, session, query.overlays), tip)
            if tip:
                self._needs_script.pop((tree, session, query.overlays), None)

    def _remember_tip(self, shown: Shown, found: bytes) -> None:
        """Remember where a script found the tip; an empty text says that it has to be a script."""
        if not found:
            self._tips.pop(shown, None)
            return
        segment, depth, above, expires = found.split(b" ")
        self._tips[shown] = TipLocation(segment, int(depth), int(above), expires == b"1")

    # the end

    async def _read_end(self, tree: str, session: str, query: Read) -> History | None:
        where = self._tips.get((tree, session, query.overlays))
        if where is None or not self._may_be_enough(where, query):
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
        time = [("TIME",)] if where.expires and self._context.clock is None else []
        return [version, record, ("LRANGE", key, first, -1), ("LLEN", key), version, *time]

    def _is_there(
        self, where: TipLocation, record: Sequence[bytes], query: Read, time: Sequence[Any]
    ) -> bool:
        """Whether a record says that the tip is in the list that was read, and no more."""
        tip, _, context, overlays, expires, _ = record
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

    # the whole

    async def _read_whole(self, tree: str, session: str, query: Read) -> History | None:
        shown = (tree, session, query.overlays)
        if shown in self._needs_script:
            return None
        guess = self._runs.get((tree, session), ())
        args = (session, self._context.directory.time(), "1" if query.overlays else "")
        call = ScriptCall("path_runs", [self._context.keys.tree(tree)], args)
        client = self._context.client
        answers = await client.send([client.command(call), *self._lists(tree, guess)])
        if isinstance(answers[0], Exception):
            # The server does not know the script yet, or something is wrong: it is told there.
            answers[0] = await client.run_script(call.name, call.keys, *call.args)
        if answers[0][0] != b"ok":
            self._needs_script[shown] = None
            return None
        *_, found, tip, _ = answers[0]
        runs = [PathRun(*it) for it in found]
        self._runs[tree, session] = runs
        self._remember_tip(shown, tip)
        if not _is_same(guess, runs):
            answers[1:] = await client.send(self._lists(tree, runs))
        return _history(answers, runs)

    def _lists(self, tree: str, runs: PathRuns) -> list[RedisCommand]:
        """Return the commands that read the lists, the last to its end, and then the version."""
        commands: list[RedisCommand] = []
        for n, run in enumerate(runs):
            end = run.last - run.above - 1 if n else -1
            key = self._context.key(tree, f"b:{run.segment}")
            commands.append(("LRANGE", key, run.first - run.above - 1, end))
        return [*commands, ("HGET", self._context.key(tree, "t"), "v")]


def _is_end(query: Read) -> bool:
    """Whether the path to the tip is asked for, or the last so many of it."""
    if query.limit is None:
        return query == Read(overlays=query.overlays)
    return query == Read(overlays=query.overlays, limit=query.limit, backwards=True)


def _is_same(guess: PathRuns, runs: PathRuns) -> bool:
    """Whether the right lists were read: the last may have grown."""
    return (
        len(guess) == len(runs) > 0
        and guess[0][:2] == runs[0][:2]
        and [it[:3] for it in guess[1:]] == [it[:3] for it in runs[1:]]
    )


def _history(answers: Sequence[Any], runs: PathRuns) -> History | None:
    (_, version, tip, context, _, _, data), *lists, version_then = answers
    if version_then != version or any(isinstance(it, Exception) for it in lists):
        return None
    entries: list[Entry] = []
    size = 0
    for run, stored in zip(reversed(runs), reversed(lists), strict=True):
        count = run.last - run.first + 1
        if len(stored) < count:
            return None
        shown = stored if len(stored) == count else stored[:count]
        size += take_messages(shown, str(run.segment), run.first, name_of(run.home), entries)
    return History(
        entries=entries,
        leaf=id_or_root(tip),
        tip=id_or_root(tip),
        context_tokens=int(context),
        more=False,
        bytes=size,
        snapshot=version.decode(),
        data_at=position_of(data.decode()),
    )

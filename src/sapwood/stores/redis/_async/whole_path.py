"""Reading a whole path: its messages are read as lists, beside the script that says where they are.

What a script reads is converted twice. So the lists are asked for in the same round trip, where
they were the last time; the script says where they are now, and the tree's version at the end that
nothing was changed in between. What was appended meanwhile is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....model import Entry, History, Read
from ..entries import id_or_root, name_of, take_messages
from .client import RedisCommand, ScriptCall
from .context import AsyncRedisContext
from .path_end import AsyncPathEnds

MOST_REMEMBERED = 10_000


class PathRun(NamedTuple):
    """A part of a path: a run of messages in one segment."""

    segment: int
    first: int
    last: int
    above: int
    home: bytes | None


PathRuns = Sequence[PathRun]


def is_whole(query: Read) -> bool:
    """Whether a path is read to the tip, without limits."""
    return query == Read(overlays=query.overlays)


class AsyncWholePaths:
    """Reads whole paths, and remembers where they were."""

    def __init__(self, context: AsyncRedisContext, path_ends: AsyncPathEnds) -> None:
        self._context = context
        self._path_ends = path_ends
        self._known: dict[tuple[str, str], PathRuns] = {}
        self._needs_script: set[tuple[str, str, bool]] = set()

    async def read(self, tree: str, session: str, query: Read) -> History | None:
        """Read a whole path; None when it has to be read by one script."""
        if (tree, session, query.overlays) in self._needs_script:
            return None
        guess = self._known.get((tree, session), ())
        time = self._context.directory.time()
        args = (session, time, "1" if query.overlays else "")
        call = ScriptCall("path_runs", [self._context.keys.tree(tree)], args)
        client = self._context.client
        answers = await client.send([client.command(call), *self._lists(tree, guess)])
        if isinstance(answers[0], Exception):
            # The server does not know the script yet, or something is wrong: it is told there.
            answers[0] = await client.run_script(call.name, call.keys, *call.args)
        if answers[0][0] != b"ok":
            if len(self._needs_script) >= MOST_REMEMBERED:
                self._needs_script.clear()
            self._needs_script.add((tree, session, query.overlays))
            return None
        *_, found, tip = answers[0]
        runs = [PathRun(*it) for it in found]
        self._remember(tree, session, runs)
        self._path_ends.remember(tree, session, query, tip)
        if not _is_same(guess, runs):
            answers[1:] = await client.send(self._lists(tree, runs))
        return _history(answers, runs)

    def try_again(self, tree: str, session: str, query: Read, tip: bytes) -> None:
        """Read it as lists the next time, if a script found where the tip's list is."""
        if tip:
            self._needs_script.discard((tree, session, query.overlays))

    def _lists(self, tree: str, runs: PathRuns) -> list[RedisCommand]:
        """Return the commands that read the lists, the last to its end, and then the version."""
        commands: list[RedisCommand] = []
        for n, run in enumerate(runs):
            end = run.last - run.above - 1 if n else -1
            key = self._context.key(tree, f"b:{run.segment}")
            commands.append(("LRANGE", key, run.first - run.above - 1, end))
        return [*commands, ("HGET", self._context.key(tree, "t"), "v")]

    def _remember(self, tree: str, session: str, runs: PathRuns) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[tree, session] = runs


def _is_same(guess: PathRuns, runs: PathRuns) -> bool:
    """Whether the right lists were read: the last may have grown."""
    return (
        len(guess) == len(runs) > 0
        and guess[0][:2] == runs[0][:2]
        and [it[:3] for it in guess[1:]] == [it[:3] for it in runs[1:]]
    )


def _history(answers: Sequence[Any], runs: PathRuns) -> History | None:
    (_, version, tip, context, _, _), *lists, version_then = answers
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
    )

"""What a unit of work stands on: it looks, decides, and applies it if nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ....errors import ReadOnlyError, StoreUnavailableError
from ....model import SessionRecord
from ...base.bounded_dict import BoundedDict
from ..keys import RedisKeys
from ..rows import OverlayRange, RedisSessionRow
from .client import AsyncRedisClient, RedisCommand, ScriptCall
from .directory import AsyncSessionDirectory
from .look import Look, TreeState

MARKED_US = 60_000_000
"""For how long a mark says that a tree may be written to."""
MOST_REMEMBERED = 100_000


class MovedError(Exception):
    """Something has changed since it was looked at: the unit of work begins again.

    Those that write to the same place in one process then go one after the other.
    """

    def __init__(self, where: str = "") -> None:
        super().__init__(where)
        self.where = where


class AsyncRedisContext:
    """The servers, the directory and the trees, for all subjects of work."""

    def __init__(
        self,
        client: AsyncRedisClient,
        keys: RedisKeys,
        *,
        clock: Callable[[], int] | None,
        new_id: Callable[[], str],
        ttl_us: int | None,
    ) -> None:
        self.client = client
        self.keys = keys
        self.clock = clock
        self.new_id = new_id
        self.ttl_us = ttl_us
        # Until when trees are marked as being written to; what is forgotten is marked again.
        self.marks = BoundedDict[str, str](MOST_REMEMBERED)
        self.directory = AsyncSessionDirectory(client, keys, clock, new_id)

    async def now(self) -> int:
        """Return the time: the server's, or that of a clock that was given."""
        if self.clock is not None:
            return self.clock()
        seconds, micros = await self.client.run("TIME")
        return int(seconds) * 1_000_000 + int(micros)

    def key(self, tree: str, part: str) -> str:
        """Name a key of a tree."""
        return self.keys.tree(tree, part)

    async def mark(self, owner: str, tree: str) -> str:
        """Note with the owner that a tree is about to be written to; return until when."""
        key = self.keys.owner(owner)
        deadline: bytes = await self.client.run_script("mark_tree", [key], tree, MARKED_US)
        self.marks[tree] = deadline.decode()
        return self.marks[tree]

    async def mark_all(self, trees: Sequence[tuple[str, str]]) -> None:
        """Note with their owners that trees are about to be written to."""
        calls = [
            ScriptCall("mark_tree", [self.keys.owner(owner)], [tree, MARKED_US])
            for owner, tree in trees
        ]
        for (_, tree), answer in zip(trees, await self.client.try_scripts(calls), strict=True):
            if isinstance(answer, bytes):
                self.marks[tree] = answer.decode()

    async def apply(
        self,
        owner: str,
        look: Look | TreeState,
        commands: Sequence[RedisCommand],
        *,
        after_appends: bool = False,
        only_frees: bool = False,
    ) -> None:
        """Apply what was decided; with `after_appends`, appends since the look do not matter."""
        tree, name = look.tree, "apply_freeing" if only_frees else "apply"
        key = [self.keys.tree(tree)]
        known = (look.version, "*" if after_appends else look.appends, self.new_id())
        words = _words(commands)
        deadline = self.marks.get(tree) or await self.mark(owner, tree)
        answer = await self.client.run_script(name, key, *known, deadline, *words)
        if answer == b"late":
            deadline = await self.mark(owner, tree)
            answer = await self.client.run_script(name, key, *known, deadline, *words)
        _refuse(answer, tree)

    async def apply_at(
        self,
        key: str,
        version: str,
        commands: Sequence[RedisCommand],
        *,
        deadline: str = "",
        where: str = "",
    ) -> None:
        """Apply commands beside a key that is not there yet, or has a version, by a deadline."""
        args = (version, "*", self.new_id(), deadline, *_words(commands))
        _refuse(await self.client.run_script("apply", [key], *args), where)

    def change(self, look: Look, changes: dict[str, Any], session: str = "") -> RedisCommand:
        """Return the command that changes a session's record, by default of the one looked at."""
        key = self.key(look.tree, f"s:{session or look.row.id}")
        return ("HSET", key, *flat_pairs(changes))

    def forget_context_sums(self, look: Look) -> list[RedisCommand]:
        """Return the commands after which the sums of all sessions are worked out anew."""
        return [self.change(look, {"c": ""}, session) for session in look.sessions.values()]

    def add_overlay(
        self, tree: str, session: str, number: str, range: OverlayRange, stored: bytes
    ) -> list[RedisCommand]:
        """Return the commands that put an overlay in force, given both numbers."""
        return [
            ("HSET", self.key(tree, "y"), number, stored),
            ("HSET", self.key(tree, "w"), number, str(range)),
            ("HSET", self.key(tree, "q"), range.id, number),
            ("HSET", self.key(tree, "wr"), number, 1),
            ("ZADD", self.key(tree, f"v:{session}"), 0, range.member(number)),
        ]

    async def record(self, owner: str, row: RedisSessionRow) -> SessionRecord:
        """Return a session's record; its context is worked out if it is not known."""
        known = row["c"]
        return row.record(int(known) if known else await self._context_tokens(owner, row.id))

    async def _context_tokens(self, owner: str, session: str) -> int:
        """Work out a session's context at its tip, and keep it unless something changed."""
        tree, answer = await self.directory.run_script(owner, session, "context_tokens")
        _, version, appends, tokens, may_be_kept = answer
        if may_be_kept:
            args = (version, appends, self.key(tree, f"s:{session}"), tokens)
            # Where nothing can be written, as on a replica, it is worked out each time.
            with suppress(ReadOnlyError):
                await self.client.run_script("keep_context", [self.keys.tree(tree)], *args)
        return int(tokens)


class AsyncRedisWork:
    """Work on one subject."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self._context = context


def flat_pairs(fields: dict[str, Any]) -> list[Any]:
    """Write fields one after the other."""
    return [word for pair in fields.items() for word in pair]


def _words(commands: Sequence[RedisCommand]) -> list[Any]:
    """Write commands one after the other, each with its length before it."""
    return [word for command in commands for word in (len(command), *command)]


def _refuse(answer: bytes, where: str) -> None:
    if answer == b"late":
        raise StoreUnavailableError(
            "the write came too late, or the servers' clocks differ by much: try again"
        )
    if answer != b"ok":
        raise MovedError(where)

"""Units of work on a tree: look, decide, and apply what was decided if nothing has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....errors import StoreUnavailableError
from ..keys import RedisKeys
from .client import AsyncRedisClient, RedisCommand, ScriptCall
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


class TreeMarks(dict[str, str]):
    """Until when trees are marked as being written to, as far as this store marked them."""

    def __setitem__(self, tree: str, deadline: str) -> None:
        """Remember a mark; what is forgotten is marked again."""
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        super().__setitem__(tree, deadline)


class AsyncTrees:
    """Carries out what was decided, in the slot of a tree or of an owner."""

    def __init__(self, client: AsyncRedisClient, keys: RedisKeys, marks: TreeMarks) -> None:
        self._client = client
        self._keys = keys
        self._marks = marks

    async def mark(self, owner: str, tree: str) -> str:
        """Note with the owner that a tree is about to be written to."""
        key = self._keys.owner(owner)
        deadline: bytes = await self._client.run_script("mark_tree", [key], tree, MARKED_US)
        self._marks[tree] = deadline.decode()
        return self._marks[tree]

    async def mark_all(self, trees: Sequence[tuple[str, str]]) -> None:
        """Note with their owners that trees are about to be written to."""
        calls = [
            ScriptCall("mark_tree", [self._keys.owner(owner)], [tree, MARKED_US])
            for owner, tree in trees
        ]
        for (_, tree), answer in zip(trees, await self._client.try_scripts(calls), strict=True):
            if isinstance(answer, bytes):
                self._marks[tree] = answer.decode()

    async def apply(
        self,
        owner: str,
        look: Look | TreeState,
        commands: Sequence[RedisCommand],
        token: str,
        *,
        after_appends: bool = False,
        only_frees: bool = False,
    ) -> None:
        """Apply commands to a tree; with `after_appends`, appends since the look do not matter."""
        appends = "*" if after_appends else str(look.appends)
        name = "apply_freeing" if only_frees else "apply"
        args = (look.tree, str(look.version), appends, token, flat_commands(commands))
        deadline = self._marks.get(look.tree) or await self.mark(owner, look.tree)
        answer = await self._send(name, deadline, *args)
        if answer == b"late":
            answer = await self._send(name, await self.mark(owner, look.tree), *args)
        _refuse(answer, look.tree)

    async def create(
        self,
        tree: str,
        commands: Sequence[RedisCommand],
        token: str,
        deadline: str,
        version: str = "",
    ) -> None:
        """Apply commands to a tree that is new, or is at a version, before a claim's deadline."""
        words = flat_commands(commands)
        answer = await self._send("apply", deadline, tree, version, "*", token, words)
        _refuse(answer, tree)

    async def _send(
        self,
        name: str,
        deadline: str,
        tree: str,
        version: str,
        appends: str,
        token: str,
        words: Sequence[Any],
    ) -> bytes:
        key = self._keys.tree(tree)
        args = (version, appends, token, deadline, *words)
        answer: bytes = await self._client.run_script(name, [key], *args)
        return answer


def _refuse(answer: bytes, tree: str) -> None:
    if answer == b"late":
        raise StoreUnavailableError(
            "the write came too late, or the servers' clocks differ by much: try again"
        )
    if answer != b"ok":
        raise MovedError(tree)


def flat_commands(commands: Sequence[RedisCommand]) -> list[Any]:
    """Write commands one after the other, each with its length before it."""
    return [word for command in commands for word in (len(command), *command)]

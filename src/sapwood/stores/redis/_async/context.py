"""What a unit of work stands on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ....errors import ReadOnlyError
from ....model import SessionRecord
from ..keys import RedisKeys
from ..session_row import RedisSessionRow
from .client import AsyncRedisClient, RedisCommand
from .directory import AsyncSessionDirectory
from .look import Look, TreeState
from .trees import AsyncTrees, TreeMarks


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
        self.marks = TreeMarks()
        self.directory = AsyncSessionDirectory(client, keys, clock)
        self.trees = AsyncTrees(client, keys, self.marks)

    async def now(self) -> int:
        """Return the time: the server's, or that of a clock that was given."""
        if self.clock is not None:
            return self.clock()
        seconds, micros = await self.client.run("TIME")
        return int(seconds) * 1_000_000 + int(micros)

    async def apply(
        self,
        owner: str,
        look: Look | TreeState,
        commands: Sequence[RedisCommand],
        *,
        after_appends: bool = False,
        only_frees: bool = False,
    ) -> None:
        """Apply what was decided."""
        await self.trees.apply(
            owner,
            look,
            commands,
            self.new_id(),
            after_appends=after_appends,
            only_frees=only_frees,
        )

    async def claim(
        self, owner: str, session: str, tree: str, created_us: int | None
    ) -> tuple[bytes, int]:
        """Claim a session's name; return the claim and the server's time."""
        return await self.directory.claim(owner, session, tree, created_us, self.new_id())

    def key(self, tree: str, part: str) -> str:
        """Name a key of a tree."""
        return self.keys.tree(tree, part)

    def change(self, look: Look, changes: dict[str, Any], session: str = "") -> RedisCommand:
        """Return the command that changes a session's record, by default of the one looked at."""
        pairs = [word for pair in changes.items() for word in pair]
        return ("HSET", self.key(look.tree, f"s:{session or look.row.id}"), *pairs)

    def forget_context_sums(self, look: Look) -> list[RedisCommand]:
        """Return the commands after which the sums of all sessions are worked out anew."""
        return [self.change(look, {"c": ""}, session) for session in look.sessions.values()]

    async def record(self, owner: str, row: RedisSessionRow) -> SessionRecord:
        """Return a session's record; its context is worked out if it is not known."""
        tokens = row.context_tokens
        return row.record(await self.context_tokens(owner, row.id) if tokens is None else tokens)

    async def context_tokens(self, owner: str, session: str) -> int:
        """Work out a session's context at its tip, and keep it unless something changed."""
        tree, answer = await self.directory.run_script(owner, session, "context_tokens")
        _, version, appends, tokens, may_be_kept = answer
        if may_be_kept:
            args = (version, appends, self.key(tree, f"s:{session}"), tokens)
            # Where nothing can be written, as on a replica, it is worked out each time.
            with suppress(ReadOnlyError):
                await self.client.run_script("keep_context", [self.keys.tree(tree)], *args)
        return int(tokens)

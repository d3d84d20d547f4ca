"""What a unit of work stands on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ....errors import ReadOnlyError
from ....model import SessionRecord
from ..keys import Keys
from ..rows import Row
from .directory import AsyncDirectory, Known
from .link import AsyncLink, Command
from .tree import AsyncTrees, Look, Marks, State


class AsyncContext:
    """The servers, the directory and the trees, for all subjects of work."""

    def __init__(
        self,
        link: AsyncLink,
        keys: Keys,
        *,
        clock: Callable[[], int] | None,
        new_id: Callable[[], str],
        ttl_us: int | None,
    ) -> None:
        self.link = link
        self.keys = keys
        self.clock = clock
        self.new_id = new_id
        self.ttl_us = ttl_us
        self.marks = Marks()
        known: Known = {}
        self.directory = AsyncDirectory(link, keys, known, clock)
        self.trees = AsyncTrees(link, keys, self.marks)

    async def now(self) -> int:
        """Tell the time: the server's, or that of a clock that was given."""
        if self.clock is not None:
            return self.clock()
        seconds, micros = await self.link.run("TIME")
        return int(seconds) * 1_000_000 + int(micros)

    async def apply(
        self,
        owner: str,
        look: Look | State,
        commands: Sequence[Command],
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
        """Claim a session's name; give the claim and the server's time."""
        return await self.directory.claim(owner, session, tree, created_us, self.new_id())

    def key(self, tree: str, part: str) -> str:
        """Name a key of a tree."""
        return self.keys.tree(tree, part)

    def change(self, look: Look, changes: dict[str, Any], session: str = "") -> Command:
        """Give the command that changes the record of a session, by default the one looked at."""
        pairs = [word for pair in changes.items() for word in pair]
        return ("HSET", self.key(look.tree, f"s:{session or look.row.id}"), *pairs)

    def forget_sums(self, look: Look) -> list[Command]:
        """Give the commands after which the sums of all sessions of a tree are worked out anew."""
        return [self.change(look, {"c": ""}, session) for session in look.sessions.values()]

    async def record(self, owner: str, row: Row) -> SessionRecord:
        """Give a session's record; its context is worked out if it is not known."""
        known = row["c"]
        return row.record(int(known) if known else await self.context_of(owner, row.id))

    async def context_of(self, owner: str, session: str) -> int:
        """Work out a session's context at its tip, and keep it unless something changed."""
        tree, answer = await self.directory.ask_script(owner, session, "sum")
        _, version, appends, context, is_worked_out = answer
        if is_worked_out:
            key = self.key(tree, f"s:{session}")
            # Where nothing can be written, as on a replica, it is worked out each time.
            with suppress(ReadOnlyError):
                await self.link.ask("keep", [self.keys.tree(tree)], version, appends, key, context)
        return int(context)

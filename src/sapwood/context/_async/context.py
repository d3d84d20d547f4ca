"""The context of one session: its blocks, its frozen prompt, and what is loaded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ...errors import UsageError
from ...rules import check
from ...rules.tokens import estimate_text
from ...store._async.contract import AsyncStore
from ..block import Block, BlockVersion
from ..config import BlockConfig, BlockShape
from ..loaded_key import LoadedKey
from ..prompt_document import CacheReport
from .block_writer import AsyncBlockWriter
from .blocks import AsyncBlocks
from .bound_block import AsyncBoundBlock, BlockContent
from .frozen_prompt import AsyncFrozenPrompt
from .loaded_entries import AsyncLoadedEntries

logger = logging.getLogger(__name__)


class AsyncContext:
    """The blocks of a session. It remembers nothing but the configuration: every call asks.

    `before_write` is awaited before something is written, so that a session that waits for its
    first write can be created; `on_change` is called with a label and what was done. A label that
    is not configured is `NotFoundError`, and so is a session that is not there.
    """

    def __init__(
        self,
        store: AsyncStore,
        owner: str,
        session: str,
        blocks: Sequence[BlockConfig] = (),
        *,
        counter: Callable[[str], int] = estimate_text,
        before_write: Callable[[], Any] | None = None,
        on_change: Callable[[str, str], Any] | None = None,
    ) -> None:
        self._blocks = AsyncBlocks(
            store,
            owner,
            session,
            blocks,
            counter=counter,
            before_write=before_write,
            on_change=on_change,
        )
        self._writer = AsyncBlockWriter(self._blocks)
        self._prompt = AsyncFrozenPrompt(self._blocks)
        self._loaded = AsyncLoadedEntries(self._blocks)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.session!r} of {self.owner!r}>"

    @property
    def store(self) -> AsyncStore:
        """Where the documents are."""
        return self._blocks.store

    @property
    def owner(self) -> str:
        """Whom the session belongs to."""
        return self._blocks.owner

    @property
    def session(self) -> str:
        """The session's id."""
        return self._blocks.session

    # configuration

    @property
    def configs(self) -> list[BlockConfig]:
        """How the blocks are configured, in their order."""
        return [bound.config for bound in self._blocks.bound]

    @property
    def shapes(self) -> dict[str, BlockShape]:
        """What can be done with each block, by label, in their order."""
        return {bound.label: bound.shape for bound in self._blocks.bound}

    async def add(self, config: BlockConfig) -> Block:
        """Add a block after the others; the next freeze renders the prompt anew.

        `UsageError` when the label is taken.
        """
        bound = self._blocks.add(config)
        await self._blocks.changed(config.label, "add")
        return await self._listed(bound, missing_ok=self._blocks.may_be_missing)

    async def remove(self, label: str) -> bool:
        """Take a block out; return whether it was there. What it holds stays where it is."""
        was_there = self._blocks.remove(label)
        if was_there:
            await self._blocks.changed(label, "remove")
        return was_there

    # blocks

    async def blocks(self) -> list[Block]:
        """Read all blocks; one whose provider fails has its `error` set, and no content."""
        return [await self._listed(bound) for bound in self._blocks.bound]

    async def block(self, label: str) -> Block:
        """Read a block; when its provider fails, that error is raised."""
        bound = self._blocks.get(label)
        reading = await bound.read()
        return bound.block(reading, self._blocks.count(reading.content))

    async def replace(
        self,
        label: str,
        content: str,
        *,
        expected_version: int | None = None,
        origin: str = "user",
    ) -> Block:
        """Replace what a block holds.

        `StaleVersionError` when a stored block is not at the expected version (0: nothing was
        written yet), `BlockLimitError` when it would be over its limit. The same again writes
        nothing.
        """
        return await self._writer.write(
            label, content, add=False, origin=origin, expected_version=expected_version
        )

    async def append(
        self,
        label: str,
        content: str,
        *,
        expected_version: int | None = None,
        origin: str = "user",
    ) -> Block:
        """Add to what a block holds, on a line of its own; errors as of `replace`.

        Several writers of a stored block all land, one after the other.
        """
        return await self._writer.write(
            label, content, add=True, origin=origin, expected_version=expected_version
        )

    async def undo(self, label: str) -> Block:
        """Take the last write of a stored block back; called again, the one before it.

        `NotFoundError` when there is nothing to go back to, `StaleVersionError` when somebody
        wrote to it meanwhile.
        """
        return await self._writer.undo(label)

    async def versions(self, label: str) -> list[BlockVersion]:
        """Return what a stored block held, the newest first: the last 20 contents, up to 1 MB."""
        return await self._writer.versions(label)

    # entries

    async def put_entry(
        self,
        label: str,
        title: str | None,
        content: str,
        description: str | None = None,
        *,
        origin: str = "user",
    ) -> str:
        """Write an entry of a block that has entries; return its key.

        The same title writes the same entry again. Without a title, the content names it.
        """
        return await self._writer.put_entry(label, title, content, description, origin)

    async def load(self, label: str, key: str) -> str:
        """Return an entry's text, and remember that it is loaded."""
        return await self._loaded.load(label, key)

    async def unload(self, label: str, key: str) -> bool:
        """Forget that an entry is loaded; return whether it was."""
        return await self._loaded.unload(label, key)

    async def unload_all(self) -> int:
        """Forget all that is loaded; return how much it was."""
        return await self._loaded.unload_all()

    async def loaded(self) -> list[LoadedKey]:
        """Return what is loaded, as (label, key), in the order in which it was loaded."""
        return await self._loaded.keys()

    async def search(self, label: str, query: str) -> str:
        """Search a block's entries; the empty string when nothing was found."""
        bound = self._blocks.get(label)
        if not bound.shape.searchable:
            raise UsageError(f"block {label!r} cannot be searched", path="label")
        check.text(query, "query")
        return await bound.ask(bound.provider.search, query) or ""

    # the prompt

    async def freeze(self) -> str:
        """Return the session's prompt, byte for byte the same each time.

        It is rendered when there is none yet, or when the blocks' configuration is another.
        """
        return await self._prompt.freeze()

    async def refresh(self, reason: str = "refresh") -> str:
        """Render the prompt anew from what the blocks hold now; the report names the reason."""
        return await self._prompt.refresh(reason)

    async def peek(self) -> str | None:
        """Return the stored prompt as it is, or None; nothing is rendered."""
        return await self._prompt.peek()

    async def updates(self) -> str:
        """Return which blocks changed since the freeze, as text for the model; empty if none."""
        return await self._prompt.updates()

    async def cache_report(self) -> CacheReport:
        """Return what changed the prompt, when and why."""
        return await self._prompt.report()

    async def _listed(self, bound: AsyncBoundBlock, *, missing_ok: bool = False) -> Block:
        if bound.stored is not None:
            reading = await bound.read(missing_ok=missing_ok)
            return bound.block(reading, self._blocks.count(reading.content))
        try:
            reading = await bound.read()
        except Exception as error:
            logger.warning("block %r cannot be read", bound.label, exc_info=True)
            unread = BlockContent(content="", version=None, origin="provider")
            block = bound.block(unread, 0)
            return msgspec.structs.replace(block, error=f"{type(error).__name__}: {error}")
        return bound.block(reading, self._blocks.count(reading.content))

"""The methods of a session for its context blocks, its frozen prompt, and the model's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...model import ToolDefinition
from .lazy_model_context import AsyncLazyModelContext

if TYPE_CHECKING:
    from ...context import (
        AsyncContext,
        Block,
        BlockConfig,
        BlockVersion,
        CacheReport,
        LoadedKey,
    )


class AsyncContextMethods:
    """What a session does with its blocks."""

    _context: AsyncLazyModelContext

    @property
    def _blocks(self) -> AsyncContext:
        return self._context().blocks.context

    async def context_blocks(self) -> list[Block]:
        """List the blocks as they are now, in the order of the prompt."""
        return await self._blocks.blocks()

    async def get_context_block(self, label: str) -> Block:
        """Give a block as it is now, or raise `NotFoundError`."""
        return await self._blocks.block(label)

    async def replace_context_block(
        self, label: str, content: str, *, expected_version: int | None = None
    ) -> Block:
        """Give a block other content; the frozen prompt stays as it is.

        `BlockLimitError` when that is over the block's limit, `StaleVersionError` when its version
        is not the expected one.
        """
        return await self._blocks.replace(label, content, expected_version=expected_version)

    async def append_context_block(self, label: str, content: str) -> Block:
        """Add a line to a block; nobody's addition is lost, however many write at once."""
        return await self._blocks.append(label, content)

    async def undo_context_block(self, label: str) -> Block:
        """Give a block the content that it had before its last change."""
        return await self._blocks.undo(label)

    async def context_block_versions(self, label: str) -> list[BlockVersion]:
        """List what a block held, the newest first."""
        return await self._blocks.versions(label)

    async def put_context_entry(
        self, label: str, title: str, content: str, *, description: str | None = None
    ) -> str:
        """Write an entry of a searchable or loadable block; the same title replaces it."""
        return await self._blocks.put_entry(label, title, content, description)

    async def add_context(self, config: BlockConfig) -> Block:
        """Add a block while the session is in use; the next freeze shows it."""
        return await self._blocks.add(config)

    async def remove_context(self, label: str) -> bool:
        """Take a block away; what is stored of it stays. Tell whether it was there."""
        return await self._blocks.remove(label)

    async def load_context(self, label: str, key: str) -> str:
        """Load an entry of a loadable block; `prepare` shows it until it is unloaded."""
        return await self._blocks.load(label, key)

    async def unload_context(self, label: str, key: str) -> bool:
        """Show an entry no more; nothing in the history is rewritten."""
        return await self._blocks.unload(label, key)

    async def loaded_context(self) -> list[LoadedKey]:
        """List what is loaded, as pairs of label and key."""
        return await self._blocks.loaded()

    async def search_context(self, label: str, query: str) -> str:
        """Search a searchable block, as the model would."""
        return await self._blocks.search(label, query)

    async def system_prompt(self) -> str:
        """Give the system prompt: the stored one, rendered anew only if the blocks' set-up changed.

        Byte for byte the same after a restart.
        """
        return await self._context().blocks.system_prompt()

    async def refresh_system_prompt(self) -> str:
        """Render the system prompt anew from what the blocks hold now, and keep it."""
        return await self._context().blocks.refresh("refresh")

    async def context_updates(self) -> str:
        """Tell which blocks changed since the prompt was frozen, as text for the next turn."""
        return await self._blocks.updates()

    async def cache_report(self) -> CacheReport:
        """Tell what changed the prompt, when and why."""
        return await self._blocks.cache_report()

    def tools(self) -> list[ToolDefinition]:
        """List the tools that the model has for the blocks and for the owner's sessions.

        The same from turn to turn, so that a provider's cache holds.
        """
        return self._context().blocks.tools.definitions()

    async def call_tool(self, name: str, arguments: dict[str, Any] | str) -> str:
        """Do what the model asks of one of the tools; never raises, but answers what is wrong."""
        return await self._context().blocks.tools.call(name, arguments)

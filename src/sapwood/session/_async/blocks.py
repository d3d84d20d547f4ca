"""A session's context blocks, its frozen prompt, and the tools that the model has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...model import ContextEvent, ToolDefinition
from .base import AsyncSessionBase

# Loaded when they are first used: a session without blocks does not pay for it.
if TYPE_CHECKING:
    from ...context import (
        AsyncContext,
        AsyncContextTools,
        Block,
        BlockConfig,
        BlockVersion,
        CacheReport,
        LoadedKey,
    )


class AsyncContextBlocks(AsyncSessionBase):
    """The part of a session that holds its blocks."""

    _held_context: AsyncContext | None = None

    async def context_blocks(self) -> list[Block]:
        """List the blocks as they are now, in the order of the prompt."""
        return await self._context().blocks()

    async def get_context_block(self, label: str) -> Block:
        """Give a block as it is now, or raise `NotFoundError`."""
        return await self._context().block(label)

    async def replace_context_block(
        self, label: str, content: str, *, expected_version: int | None = None
    ) -> Block:
        """Give a block other content; the frozen prompt stays as it is.

        `BlockLimitError` when that is over the block's limit, `StaleVersionError` when its version
        is not the expected one.
        """
        return await self._context().replace(label, content, expected_version=expected_version)

    async def append_context_block(self, label: str, content: str) -> Block:
        """Add a line to a block; nobody's addition is lost, however many write at once."""
        return await self._context().append(label, content)

    async def undo_context_block(self, label: str) -> Block:
        """Give a block the content that it had before its last change."""
        return await self._context().undo(label)

    async def context_block_versions(self, label: str) -> list[BlockVersion]:
        """List what a block held, the newest first."""
        return await self._context().versions(label)

    async def put_context_entry(
        self, label: str, title: str, content: str, *, description: str | None = None
    ) -> str:
        """Write an entry of a searchable or loadable block; the same title replaces it."""
        return await self._context().put_entry(label, title, content, description)

    async def add_context(self, config: BlockConfig) -> Block:
        """Add a block while the session is in use; the next freeze shows it."""
        return await self._context().add(config)

    async def remove_context(self, label: str) -> bool:
        """Take a block away; what is stored of it stays. Tell whether it was there."""
        return await self._context().remove(label)

    async def load_context(self, label: str, key: str) -> str:
        """Load an entry of a loadable block; `prepare` shows it until it is unloaded."""
        return await self._context().load(label, key)

    async def unload_context(self, label: str, key: str) -> bool:
        """Show an entry no more; nothing in the history is rewritten."""
        return await self._context().unload(label, key)

    async def loaded_context(self) -> list[LoadedKey]:
        """List what is loaded, as pairs of label and key."""
        return await self._context().loaded()

    async def search_context(self, label: str, query: str) -> str:
        """Search a searchable block, as the model would."""
        return await self._context().search(label, query)

    async def freeze_system_prompt(self) -> str:
        """Give the system prompt: the stored one, rendered anew only if the blocks' set-up changed.

        Byte for byte the same after a restart.
        """
        await self._finish_clear()
        prompt = await self._context().freeze()
        self._overhead = None
        return prompt

    async def refresh_system_prompt(self) -> str:
        """Render the system prompt anew from what the blocks hold now, and keep it."""
        return await self._refresh_prompt("refresh")

    async def _refresh_prompt(self, reason: str) -> str:
        prompt = await self._context().refresh(reason)
        self._overhead = None
        await self._tell_context("prompt", reason)
        return prompt

    async def _begin_context_anew(self) -> None:
        """After a clear nothing is loaded, and the prompt is rendered anew."""
        if self._has_context():
            self._is_context_past = True
            await self._finish_clear()

    async def _finish_clear(self) -> None:
        """See to what a clear could not: nothing from before it is shown."""
        if self._is_context_past:
            await self._context().unload_all()
            await self._refresh_prompt("clear")
            self._is_context_past = False

    def _has_context(self) -> bool:
        """Tell whether there may be blocks: without any, nothing is asked of the store for them."""
        held, settings = self._held_context, self._settings
        return held is not None or bool(settings.context or settings.searchable_history)

    async def context_updates(self) -> str:
        """Tell which blocks changed since the prompt was frozen, as text for the next turn."""
        return await self._context().updates()

    async def cache_report(self) -> CacheReport:
        """Tell what changed the prompt, when and why."""
        return await self._context().cache_report()

    def tools(self) -> list[ToolDefinition]:
        """List the tools that the model has for the blocks and for the owner's sessions.

        The same from turn to turn, so that a provider's cache holds.
        """
        return self._tools().definitions()

    async def call_tool(self, name: str, arguments: dict[str, Any] | str) -> str:
        """Do what the model asks of one of the tools; never raises, but answers what is wrong."""
        return await self._tools().call(name, arguments)

    def _context(self) -> AsyncContext:
        """Make the blocks when they are first used, so that builders may come in any order."""
        if self._held_context is None:
            from ...context import AsyncContext

            self._held_context = AsyncContext(
                self._store,
                self._owner,
                self._id,
                self._block_configs(),
                before_write=self._create,
                on_change=self._tell_context,
            )
        return self._held_context

    def _block_configs(self) -> list[BlockConfig]:
        configs = list(self._settings.context)
        label = self._settings.searchable_history
        if label is not None:
            from ...context import AsyncSearchableHistory, BlockConfig

            history = AsyncSearchableHistory(self._store, self._owner, self._id, within="all")
            configs.append(BlockConfig(label, provider=history))
        return configs

    def _tools(self) -> AsyncContextTools:
        from ...context import AsyncContextTools

        searches = self._settings.searchable_history is not None
        return AsyncContextTools(self._context(), search=searches)

    async def _tell_context(self, label: str, action: str) -> None:
        event = ContextEvent(owner=self._owner, session=self._id, label=label, action=action)
        await self._tell(event)

    # whether prompt and loaded entries are from before a clear
    _is_context_past = False
    # how many tokens the prompt and the tools take; None when it is to be counted again
    _overhead: int | None = None

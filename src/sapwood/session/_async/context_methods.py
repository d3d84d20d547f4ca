"""The methods of a session for what a model is called with: prompt, blocks, tools, messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ...calls import AsyncCall
from ...model import ModelInput, ToolDefinition, Usage, UsageTotal
from ..references import PlaceRef
from .session_base import AsyncSessionBase

if TYPE_CHECKING:
    from ...context import (
        AsyncContext,
        Block,
        BlockConfig,
        BlockVersion,
        CacheReport,
        LoadedKey,
    )


@AsyncCall.reminding
class AsyncContextMethods(AsyncSessionBase):
    """What a session does with its blocks, and for the model that is called with it."""

    @property
    def _blocks(self) -> AsyncContext:
        return self._context().blocks.context

    async def context_blocks(self) -> list[Block]:
        """List the blocks as they are now, in the order of the prompt."""
        return await self._blocks.blocks()

    async def get_context_block(self, label: str) -> Block:
        """Return a block as it is now, or raise `NotFoundError`."""
        return await self._blocks.block(label)

    async def replace_context_block(
        self, label: str, content: str, *, expected_version: int | None = None
    ) -> Block:
        """Replace a block's content; the frozen prompt stays as it is.

        `BlockLimitError` when that is over the block's limit, `StaleVersionError` when its version
        is not the expected one.
        """
        return await self._blocks.replace(label, content, expected_version=expected_version)

    async def append_context_block(self, label: str, content: str) -> Block:
        """Add a line to a block; nobody's addition is lost, however many write at once."""
        return await self._blocks.append(label, content)

    async def undo_context_block(self, label: str) -> Block:
        """Restore the content that a block had before its last change."""
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
        """Take a block away; what is stored of it stays. Return whether it was there."""
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
        """Return the system prompt: the stored one, or a new one if the blocks' set-up changed.

        Byte for byte the same after a restart.
        """
        return await self._context().blocks.system_prompt()

    async def refresh_system_prompt(self) -> str:
        """Render the system prompt anew from what the blocks hold now, and keep it."""
        return await self._context().blocks.refresh("refresh")

    async def context_updates(self) -> str:
        """Return which blocks changed since the prompt was frozen, as text for the next turn."""
        return await self._blocks.updates()

    async def cache_report(self) -> CacheReport:
        """Return what changed the prompt, when and why."""
        return await self._blocks.cache_report()

    def tools(self) -> list[ToolDefinition]:
        """List the tools that the model has for the blocks and for the owner's sessions.

        The same from turn to turn, so that a provider's cache holds.
        """
        return self._context().blocks.tools.definitions()

    async def call_tool(self, name: str, arguments: dict[str, Any] | str) -> str:
        """Do what the model asks of one of the tools; never raises, but answers what is wrong."""
        return await self._context().blocks.tools.call(name, arguments)

    async def prepare(
        self,
        *,
        leaf: PlaceRef | None = None,
        budget: int | None = None,
        tools: Sequence[ToolDefinition] = (),
    ) -> ModelInput:
        """Return prompt, messages and tools for the next call of a model.

        When the context is full it is compacted first, as after an append. What is still over the
        `budget`, which is the session's own unless given, is shortened or left out, and the fields
        of these names say what; nothing stored is changed. Whatever the tree looks like, the
        messages are valid for a model: no result without its call, no call without a result. Your
        own `tools` are counted, and given along with those of the blocks.
        No word of the user's last message is cut: `ContextOverflowError` when even that does not
        fit.
        """
        return await self._context().model.prepare(leaf, budget, tools)

    async def call_model(
        self,
        call: Callable[[ModelInput], Any],
        *,
        budget: int | None = None,
        tools: Sequence[ToolDefinition] = (),
        is_overflow: Callable[[BaseException], bool] | None = None,
        in_thread: bool = False,
    ) -> Any:
        """Prepare the input and call a model with it; return what the call returns.

        When the model says that the input is too long, the session is compacted and the model is
        called once more; when that does not help either, it is `ContextOverflowError`.
        `is_overflow` tells by the error; without one the usual providers' errors are known.
        A plain function runs where it is called, also on an event loop; `in_thread` moves it, and
        the beginning of a plain stream, to a thread, so that a loop goes on.

        A stream is begun first, since that is when a model says so: an iterator's first item is
        fetched, and what is only there to be entered is entered. It is then yours to use and to
        close: what fails after its beginning is not tried again.
        """
        return await self._context().model.call(call, budget, tools, is_overflow, in_thread)

    async def add_usage(self, usage: Usage) -> bool:
        """Record what a model call cost; counted once by its id. Return whether it was new.

        Name the `message` that the call gave: the context is then measured by its real size.
        """
        stored = self._stored
        is_new = await stored.first_creating(
            lambda: stored.store.add_usage(stored.owner, stored.id, usage)
        )
        await self._context().size.report(usage)
        return is_new

    async def usage(self, by: Literal["model", "message"] = "model") -> list[UsageTotal]:
        """Sum what the model calls cost, by model, or by the message that each gave."""
        return await self._stored.store.total_usage(self._stored.owner, self._stored.id, by=by)

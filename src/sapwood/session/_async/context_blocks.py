"""A session's context: its blocks, its frozen prompt, and the model's tools for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model import ContextEvent
from ...rules.tokens import estimate_text
from ..model_input import ShownContext, prompt_of, tokens_of_tools
from .stored_session import AsyncStoredSession

# Loaded when they are first used: a session without blocks does not pay for it.
if TYPE_CHECKING:
    from ...context import AsyncContext, AsyncContextTools
    from ...context.prompt_document import BlockNote


class AsyncContextBlocks:
    """Holds a session's context, once it is used, and what its prompt and tools cost."""

    __slots__ = ("_context", "_is_past", "_stored", "_tools", "known_overhead")

    def __init__(self, stored: AsyncStoredSession) -> None:
        self._stored = stored
        self._context: AsyncContext | None = None
        self._tools: AsyncContextTools | None = None
        # how many tokens the prompt and the tools take; None when it is to be counted again
        self.known_overhead: int | None = None
        # whether prompt and loaded entries are from before a clear
        self._is_past = False

    @property
    def may_be_there(self) -> bool:
        """Whether there may be blocks: without any, nothing is asked of the store for them."""
        settings = self._stored.setup.settings
        return self._context is not None or bool(settings.context or settings.searchable_history)

    @property
    def context(self) -> AsyncContext:
        """The blocks; made when they are first used, so that builders may come in any order."""
        if self._context is None:
            from ...context import AsyncContext, AsyncSearchableHistory, BlockConfig

            stored, settings = self._stored, self._stored.setup.settings
            configs = list(settings.context)
            if settings.searchable_history is not None:
                history = AsyncSearchableHistory(
                    stored.store, stored.owner, stored.id, within="all"
                )
                configs.append(BlockConfig(settings.searchable_history, provider=history))
            self._context = AsyncContext(
                stored.store,
                stored.owner,
                stored.id,
                configs,
                before_write=stored.create,
                on_change=self._tell,
            )
            stored.setup.blocks_in_use = True
        return self._context

    @property
    def tools(self) -> AsyncContextTools:
        """The tools that the model has for the blocks and for the owner's sessions."""
        if self._tools is None:
            from ...context import AsyncContextTools

            searches = self._stored.setup.settings.searchable_history is not None
            self._tools = AsyncContextTools(self.context, search=searches)
        return self._tools

    async def system_prompt(self) -> str:
        """Return the stored prompt, rendered anew only if the blocks' set-up changed."""
        await self._finish_clear()
        prompt = await self.context.freeze()
        self.known_overhead = None
        return prompt

    async def refresh(self, reason: str) -> str:
        """Render the prompt anew from what the blocks hold now, and keep it."""
        prompt = await self.context.refresh(reason)
        self.known_overhead = None
        await self._tell("prompt", reason)
        return prompt

    async def begin_anew(self) -> None:
        """After a clear nothing is loaded, and the prompt is rendered anew."""
        if self.may_be_there:
            self._is_past = True
            await self._finish_clear()

    async def _finish_clear(self) -> None:
        """See to what a clear could not: nothing from before it is shown."""
        if self._is_past:
            await self.context.unload_all()
            await self.refresh("clear")
            self._is_past = False

    async def shown(self) -> ShownContext:
        """Return what the model is shown of the context."""
        if not self.may_be_there:
            return ShownContext()
        await self._finish_clear()
        is_cached = self._stored.setup.settings.cached_prompt
        prompt = await (self.system_prompt() if is_cached else self.context.refresh("turn"))
        standing = await self.context.standing()
        # Somebody may have rendered it anew in between: what is noted is about another text then.
        is_same = standing is not None and standing.frozen.text == prompt
        return ShownContext(
            prompt=prompt,
            tools=self.tools.definitions(),
            standing=standing if is_same else None,
            describe=self.context.describe,
            loaded=await self.context.loaded(),
        )

    async def keep_note(self, note: BlockNote, shown: ShownContext) -> bool:
        """Keep what is told along with a message; False if it has to be looked at again."""
        return shown.standing is not None and await self.context.keep_note(note, shown.standing)

    async def overhead(self) -> int:
        """Return how many tokens prompt and tools take, counted only when it is not known."""
        if self.known_overhead is not None:
            return self.known_overhead
        if not self.may_be_there:
            self.known_overhead = 0
            return 0
        prompt = await self.context.peek()
        shown = prompt_of(await self.context.blocks()) if prompt is None else prompt
        overhead = estimate_text(shown) + tokens_of_tools(self.tools.definitions())
        # Blocks change without a word in the record, and what is frozen does not.
        self.known_overhead = None if prompt is None else overhead
        return overhead

    async def _tell(self, label: str, action: str) -> None:
        stored = self._stored
        event = ContextEvent(owner=stored.owner, session=stored.id, label=label, action=action)
        await stored.tell(event)

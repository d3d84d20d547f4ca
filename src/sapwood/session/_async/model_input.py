"""What the model is called with: prompt, messages and tools, within its budget and valid."""

from __future__ import annotations

from collections.abc import Sequence

from ...model import ModelInput, ToolDefinition
from ...rules import check
from ...rules.tokens import MAX_TOKENS
from ..builder import Setup
from ..history_end import MORE, first_bytes, is_long_enough
from ..model_input import input_of
from ..references import PlaceRef
from ..shown_context import ShownContext
from .auto_compaction import AsyncAutoCompaction
from .context_blocks import AsyncContextBlocks
from .history import AsyncHistoryReader
from .overlays import AsyncOverlayWriter
from .stored_session import AsyncStoredSession


class AsyncModelInputMaker:
    """Prepares what a model is given."""

    __slots__ = ("_blocks", "_compaction", "_history", "_overlays", "_setup", "_stored")

    def __init__(
        self,
        stored: AsyncStoredSession,
        setup: Setup,
        history: AsyncHistoryReader,
        blocks: AsyncContextBlocks,
        overlays: AsyncOverlayWriter,
        compaction: AsyncAutoCompaction,
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._history = history
        self._blocks = blocks
        self._overlays = overlays
        self._compaction = compaction

    async def prepare(
        self, leaf: PlaceRef | None, budget: int | None, tools: Sequence[ToolDefinition]
    ) -> ModelInput:
        """Make what the next call of a model is given, as `Session.prepare` says."""
        check.whole(budget, "budget", 1, MAX_TOKENS)
        record = await self._stored.record()
        if leaf is None:
            await self._compaction.run_if_full()
        shown = (await self._blocks.shown()).with_tools(tools)
        limit = record.budget if budget is None else budget
        is_over = limit is not None and (leaf is not None or record.context_tokens > limit)
        # Summaries are shown wherever they stand.
        if limit is not None and is_over and not await self._overlays.in_force():
            return await self._input_of_the_end(limit, leaf, shown)
        return input_of(await self._history.read(leaf), limit, shown, self._setup.counter)

    async def _input_of_the_end(
        self, limit: int, leaf: PlaceRef | None, shown: ShownContext
    ) -> ModelInput:
        """Make it from as much of the end of a history as fills its budget."""
        from ...compaction import model_messages
        from ...compaction.fit import is_asked

        size = first_bytes(limit)
        while True:
            tail = await self._history.read(leaf, max_bytes=size)
            if not tail.more or any(map(is_asked, model_messages(tail.entries))):
                made = input_of(tail, limit, shown, self._setup.counter)
                if is_long_enough(tail, made):
                    return made
            size *= MORE

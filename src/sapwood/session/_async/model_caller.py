"""A model's call: its input, within a budget and valid, and a second try when that is too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...calls import AsyncCall
from ...errors import CompactionError, ContextOverflowError
from ...model import ModelInput, Read, ToolDefinition
from ...rules import check
from ...rules.tokens import MAX_TOKENS
from ...rules.wording import counted
from ..model_input import (
    BYTES_FOR_A_TOKEN,
    LEAST_BYTES,
    MORE,
    ShownContext,
    input_of,
    is_long_enough,
)
from ..references import PlaceRef, id_of
from ..streams import AsyncStreams
from .compactor import AsyncCompactor
from .context_blocks import AsyncContextBlocks
from .context_watch import AsyncContextWatch
from .history import read_window
from .overlays import AsyncOverlays
from .stored_session import AsyncStoredSession


class AsyncModelCaller:
    """Prepares what a model is given, and calls it."""

    __slots__ = ("_blocks", "_compactor", "_overlays", "_stored", "_watch")

    def __init__(
        self,
        stored: AsyncStoredSession,
        blocks: AsyncContextBlocks,
        overlays: AsyncOverlays,
        compactor: AsyncCompactor,
        watch: AsyncContextWatch,
    ) -> None:
        self._stored = stored
        self._blocks = blocks
        self._overlays = overlays
        self._compactor = compactor
        self._watch = watch

    async def prepare(
        self, leaf: PlaceRef | None, budget: int | None, tools: Sequence[ToolDefinition]
    ) -> ModelInput:
        """Make what the next call of a model is given, as `Session.prepare` says."""
        check.whole(budget, "budget", 1, MAX_TOKENS)
        record = await self._stored.record()
        if leaf is None:
            await self._watch.compact_if_full()
        shown = (await self._blocks.shown()).with_tools(tools)
        limit = record.budget if budget is None else budget
        is_over = limit is not None and (leaf is not None or record.context_tokens > limit)
        # Summaries are shown wherever they stand.
        if limit is not None and is_over and not await self._overlays.in_force():
            return await self._input_of_the_end(limit, leaf, shown)
        history = await self._stored.read(Read(leaf=id_of(leaf)))
        return input_of(history, limit, shown, self._stored.setup.counter)

    async def _input_of_the_end(
        self, limit: int, leaf: PlaceRef | None, shown: ShownContext
    ) -> ModelInput:
        """Make it from as much of the end of a history as fills its budget."""
        from ...compaction import model_messages
        from ...compaction.fit import is_asked

        size = max(LEAST_BYTES, BYTES_FOR_A_TOKEN * limit)
        while True:
            end = Read(leaf=id_of(leaf), max_bytes=size, backwards=True)
            tail = await read_window(self._stored, end)
            if not tail.more or any(map(is_asked, model_messages(tail.entries))):
                made = input_of(tail, limit, shown, self._stored.setup.counter)
                if is_long_enough(tail, made):
                    return made
            size *= MORE

    async def call(
        self,
        function: Callable[[ModelInput], Any],
        budget: int | None,
        tools: Sequence[ToolDefinition],
        is_overflow: Callable[[BaseException], bool] | None,
    ) -> Any:
        """Prepare the input and call a model with it, as `Session.call_model` says."""
        from ...compaction import is_context_overflow

        check.function(function, "call")
        is_overflow = is_context_overflow if is_overflow is None else is_overflow
        check.function(is_overflow, "is_overflow")
        for is_last in (False, True):
            given = await self.prepare(None, budget, tools)
            try:
                return await AsyncStreams.begin(await AsyncCall.within(None, function, given))
            except Exception as error:
                if not is_overflow(error):
                    raise
                if is_last:
                    raise ContextOverflowError(
                        f"the model cannot take {counted(given.tokens, 'token')}, even after a "
                        "compaction: give a smaller budget, or protect fewer messages from "
                        "compaction"
                    ) from error
                await self.make_room(error)

    async def make_room(self, error: Exception) -> None:
        """Compact the session, since the model said that its input is too long."""
        said = "the model says that the input is too long, and"
        try:
            outcome = await self._compactor.compact("overflow")
        except CompactionError as failure:
            raise ContextOverflowError(f"{said} {failure}") from error
        if outcome.status == "refused":
            raise ContextOverflowError(
                f"{said} it cannot be compacted: {outcome.reason}"
            ) from error

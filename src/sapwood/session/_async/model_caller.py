"""A model's call: its input, within a budget and valid, and a second try when that is too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...calls import AsyncCall
from ...errors import CompactionError, ContextOverflowError
from ...model import EdgeKind, ModelInput, Read, SessionRecord, ToolDefinition
from ...rules import check
from ...rules.prompt import digest_of
from ...rules.tokens import MAX_TOKENS
from ...rules.wording import counted
from ..model_input import (
    BYTES_FOR_A_TOKEN,
    LEAST_BYTES,
    MORE,
    MadeInput,
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

MOST_ABOVE = 100
"""So many sessions above a fork are looked at for where its tree began."""


class AsyncModelCaller:
    """Prepares what a model is given, and calls it."""

    __slots__ = ("_blocks", "_compactor", "_key", "_overlays", "_stored", "_watch")

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
        self._key: str | None = None

    async def prepare(
        self, leaf: PlaceRef | None, budget: int | None, tools: Sequence[ToolDefinition]
    ) -> ModelInput:
        """Make what the next call of a model is given, as `Session.prepare` says."""
        check.whole(budget, "budget", 1, MAX_TOKENS)
        record = await self._stored.record()
        if leaf is None:
            await self._watch.compact_if_full()
        limit = record.budget if budget is None else budget
        is_over = limit is not None and (leaf is not None or record.context_tokens > limit)
        key = await self._cache_key(record)
        # Every further turn means that somebody else changed the prompt, so this ends.
        while True:
            shown = (await self._blocks.shown()).with_tools(tools)
            # Summaries are shown wherever they stand.
            if limit is not None and is_over and not await self._overlays.in_force():
                made = await self._input_of_the_end(limit, leaf, shown, key)
            else:
                history = await self._stored.read(Read(leaf=id_of(leaf)))
                made = input_of(history, limit, shown, self._stored.setup.counter, key)
            if made.note is None or await self._blocks.keep_note(made.note, shown):
                return made.input

    async def _cache_key(self, record: SessionRecord) -> str:
        """Return what a provider may keep inputs together by: the same for all forks."""
        if self._key is None:
            origin, parent = record.id, record.parent
            for _ in range(MOST_ABOVE):
                if parent is None or parent.kind not in (EdgeKind.BRANCH, EdgeKind.CONTINUE):
                    break
                origin = parent.session
                above = await self._stored.store.find_session(self._stored.owner, origin)
                parent = None if above is None else above.parent
            # By the digest: nobody else is to read whose it is.
            self._key = f"sapwood-{digest_of(f'{self._stored.owner}/{origin}')}"
        return self._key

    async def _input_of_the_end(
        self, limit: int, leaf: PlaceRef | None, shown: ShownContext, key: str
    ) -> MadeInput:
        """Make it from as much of the end of a history as fills its budget."""
        from ...compaction import model_messages
        from ...compaction.fit import is_asked

        size = max(LEAST_BYTES, BYTES_FOR_A_TOKEN * limit)
        while True:
            end = Read(leaf=id_of(leaf), max_bytes=size, backwards=True)
            tail = await read_window(self._stored, end)
            if not tail.more or any(map(is_asked, model_messages(tail.entries))):
                made = input_of(tail, limit, shown, self._stored.setup.counter, key)
                if is_long_enough(tail, made.input):
                    return made
            size *= MORE

    async def call(
        self,
        function: Callable[[ModelInput], Any],
        budget: int | None,
        tools: Sequence[ToolDefinition],
        is_overflow: Callable[[BaseException], bool] | None,
        in_thread: bool,
    ) -> Any:
        """Prepare the input and call a model with it, as `Session.call_model` says."""
        from ...compaction import is_context_overflow

        check.function(function, "call")
        is_overflow = is_context_overflow if is_overflow is None else is_overflow
        check.function(is_overflow, "is_overflow")
        check.instance(in_thread, bool, "in_thread")
        for is_last in (False, True):
            given = await self.prepare(None, budget, tools)
            try:
                answer = await AsyncCall.within(None, function, given, in_thread=in_thread)
                return await AsyncStreams.begin(answer, in_thread=in_thread)
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

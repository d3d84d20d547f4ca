"""What the model is called with: prompt, messages and tools, within its budget and valid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...calling import AsyncCall
from ...errors import CompactionError, ContextOverflowError
from ...model import History, TextPart, ToolDefinition, Turn, TurnMessage
from ...rules import check
from ...rules.tokens import MAX_TOKENS
from ..costs import Costs, pinned_in
from ..naming import Place
from ..shown import ShownContext
from ..streaming import AsyncStreams
from ..tail import MORE, first_bytes, is_long_enough
from .compacting import AsyncCompacting


class AsyncTurning(AsyncCompacting):
    """The part of a session that prepares what a model is given."""

    async def prepare(
        self,
        *,
        leaf: Place | None = None,
        budget: int | None = None,
        tools: Sequence[ToolDefinition] = (),
    ) -> Turn:
        """Give prompt, messages and tools for the next call of a model.

        When the context is full it is compacted first, as after an append. What is still over the
        `budget`, which is the session's own unless given, is shortened or left out of the turn, and
        the turn says what; nothing stored is changed. Whatever the tree looks like, the messages
        are valid for a model: no result without its call, no call without a result. Your own
        `tools` are counted, and given along with those of the blocks.
        No word of the user's last message is cut: `ContextOverflowError` when even that does not
        fit.
        """
        check.whole(budget, "budget", 1, MAX_TOKENS)
        record = await self.record()
        if leaf is None and self._settings.compacts_by_itself:
            await self._compact_by_itself()
        shown = (await self._shown_context()).with_tools(tools)
        limit = record.budget if budget is None else budget
        is_over = limit is not None and (leaf is not None or record.context_tokens > limit)
        if limit is not None and is_over and not await self._has_overlays():
            return await self._turn_of_the_end(limit, leaf, shown)
        return self._turn_of(await self.history(leaf), limit, shown)

    async def _has_overlays(self) -> bool:
        """Tell whether summaries may be shown, which stay in a turn wherever they stand."""
        return bool(await self._store.list_overlays(self._owner, self._id))

    async def _turn_of_the_end(self, limit: int, leaf: Place | None, shown: ShownContext) -> Turn:
        """Make a turn from as much of the end of a history as fills its budget."""
        from ...compaction import turn_messages
        from ...compaction.fit import is_asked

        size = first_bytes(limit)
        while True:
            tail = await self.history(leaf, max_bytes=size)
            if not tail.more or any(map(is_asked, turn_messages(tail.entries))):
                turn = self._turn_of(tail, limit, shown)
                if is_long_enough(tail, turn):
                    return turn
            size *= MORE

    def _turn_of(self, history: History, limit: int | None, shown: ShownContext) -> Turn:
        from ...compaction import repair_turn, turn_messages

        turned = turn_messages(history.entries)
        messages = repair_turn(shown.elided(turned))
        costs = Costs(history.entries, turned, self._counter)
        return _within(limit, history, shown, messages, costs)

    async def _shown_context(self) -> ShownContext:
        if not self._has_context():
            return ShownContext()
        await self._finish_clear()
        return ShownContext(
            prompt=await self._prompt_text(),
            tools=self.tools(),
            updates=await self.context_updates(),
            loaded=await self.loaded_context(),
        )

    async def _prompt_text(self) -> str:
        if self._settings.cached_prompt:
            return await self.freeze_system_prompt()
        return await self._context().refresh("turn")

    async def call_model(
        self,
        call: Callable[[Turn], Any],
        *,
        budget: int | None = None,
        tools: Sequence[ToolDefinition] = (),
        is_overflow: Callable[[BaseException], bool] | None = None,
    ) -> Any:
        """Prepare a turn and call a model with it; give what the call gives.

        When the model says that the input is too long, the session is compacted and the model is
        called once more; when that does not help either, it is `ContextOverflowError`.
        `is_overflow` tells by the error; without one the usual providers' errors are known.

        A stream is begun first, since that is when a model says so: an iterator's first item is
        fetched, and what is only there to be entered is entered. It is then yours to use and to
        close: what fails after its beginning is not tried again.
        """
        from ...compaction import is_context_overflow

        check.function(call, "call")
        if is_overflow is None:
            is_overflow = is_context_overflow
        check.function(is_overflow, "is_overflow")
        turn = await self.prepare(budget=budget, tools=tools)
        try:
            return await self._begun(call, turn)
        except Exception as error:
            if not is_overflow(error):
                raise
            await self._make_room(error)
        turn = await self.prepare(budget=budget, tools=tools)
        try:
            return await self._begun(call, turn)
        except Exception as error:
            if not is_overflow(error):
                raise
            raise ContextOverflowError(
                f"the model cannot take {turn.tokens} tokens, even after a compaction: "
                "give a smaller budget, or protect fewer messages from compaction"
            ) from error

    async def _begun(self, call: Callable[[Turn], Any], turn: Turn) -> Any:
        return await AsyncStreams.begin(await AsyncCall.within(None, call, turn))

    async def _make_room(self, error: Exception) -> None:
        try:
            outcome = await self._compact(None, None, "overflow", self._function())
        except CompactionError as failure:
            raise ContextOverflowError(
                f"the model says that the input is too long, and {failure}"
            ) from error
        if outcome.status == "refused":
            raise ContextOverflowError(
                f"the model says that the input is too long, and it cannot be compacted: "
                f"{outcome.reason}"
            ) from error


def _within(
    budget: int | None,
    history: History,
    shown: ShownContext,
    messages: list[TurnMessage],
    costs: Costs,
) -> Turn:
    """Make a turn that fits its budget, with what the blocks have to say at its end."""
    left_out: list[str] = []
    shortened: list[str] = []
    said = [TurnMessage(role="user", parts=[TextPart(text=shown.updates)])] if shown.updates else []
    if budget is not None:
        from ...compaction import fit_messages

        pinned = {message.id for message in pinned_in(history)}
        room = shown.room_in(budget, sum(costs.of(message) for message in said))
        fitted = fit_messages(messages, room, costs.of, keep=pinned)
        messages, left_out, shortened = fitted.messages, fitted.left_out, fitted.shortened
    messages = [*messages, *said]
    return Turn(
        prompt=shown.prompt,
        messages=messages,
        tools=shown.tools,
        tokens=shown.tokens + sum(costs.of(message) for message in messages),
        budget=budget,
        left_out=left_out,
        shortened=shortened,
        updates=shown.updates,
        leaf=history.leaf,
        more=history.more,
    )

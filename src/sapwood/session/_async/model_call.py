"""A call of a model, with a second try after a compaction when its input was too long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...calls import AsyncCall
from ...errors import CompactionError, ContextOverflowError
from ...model import ModelInput, ToolDefinition
from ...rules import check
from ..streams import AsyncStreams
from .compactor import AsyncCompactor
from .model_input import AsyncModelInputMaker


class AsyncModelCall:
    """Calls a model with what a session prepares for it."""

    __slots__ = ("_compactor", "_inputs")

    def __init__(self, inputs: AsyncModelInputMaker, compactor: AsyncCompactor) -> None:
        self._inputs = inputs
        self._compactor = compactor

    async def run(
        self,
        call: Callable[[ModelInput], Any],
        budget: int | None,
        tools: Sequence[ToolDefinition],
        is_overflow: Callable[[BaseException], bool] | None,
    ) -> Any:
        """Prepare the input and call a model with it, as `Session.call_model` says."""
        from ...compaction import is_context_overflow

        check.function(call, "call")
        if is_overflow is None:
            is_overflow = is_context_overflow
        check.function(is_overflow, "is_overflow")
        given = await self._inputs.prepare(None, budget, tools)
        try:
            return await _begun(call, given)
        except Exception as error:
            if not is_overflow(error):
                raise
            await self._make_room(error)
        given = await self._inputs.prepare(None, budget, tools)
        try:
            return await _begun(call, given)
        except Exception as error:
            if not is_overflow(error):
                raise
            raise ContextOverflowError(
                f"the model cannot take {given.tokens} tokens, even after a compaction: "
                "give a smaller budget, or protect fewer messages from compaction"
            ) from error

    async def _make_room(self, error: Exception) -> None:
        try:
            outcome = await self._compactor.compact("overflow")
        except CompactionError as failure:
            raise ContextOverflowError(
                f"the model says that the input is too long, and {failure}"
            ) from error
        if outcome.status == "refused":
            raise ContextOverflowError(
                f"the model says that the input is too long, and it cannot be compacted: "
                f"{outcome.reason}"
            ) from error


async def _begun(call: Callable[[ModelInput], Any], given: ModelInput) -> Any:
    return await AsyncStreams.begin(await AsyncCall.within(None, call, given))

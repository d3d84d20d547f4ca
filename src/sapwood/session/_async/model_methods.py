"""The methods of a session that call a model, and count what that cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ...model import ModelInput, ToolDefinition, Usage, UsageTotal
from ..references import PlaceRef
from .lazy_model_context import AsyncLazyModelContext
from .stored_session import AsyncStoredSession


class AsyncModelMethods:
    """What a session does for the model that is called with it."""

    _stored: AsyncStoredSession
    _context: AsyncLazyModelContext

    async def prepare(
        self,
        *,
        leaf: PlaceRef | None = None,
        budget: int | None = None,
        tools: Sequence[ToolDefinition] = (),
    ) -> ModelInput:
        """Give prompt, messages and tools for the next call of a model.

        When the context is full it is compacted first, as after an append. What is still over the
        `budget`, which is the session's own unless given, is shortened or left out, and the fields
        of these names say what; nothing stored is changed. Whatever the tree looks like, the
        messages are valid for a model: no result without its call, no call without a result. Your
        own `tools` are counted, and given along with those of the blocks.
        No word of the user's last message is cut: `ContextOverflowError` when even that does not
        fit.
        """
        return await self._context().input.prepare(leaf, budget, tools)

    async def call_model(
        self,
        call: Callable[[ModelInput], Any],
        *,
        budget: int | None = None,
        tools: Sequence[ToolDefinition] = (),
        is_overflow: Callable[[BaseException], bool] | None = None,
    ) -> Any:
        """Prepare the input and call a model with it; give what the call gives.

        When the model says that the input is too long, the session is compacted and the model is
        called once more; when that does not help either, it is `ContextOverflowError`.
        `is_overflow` tells by the error; without one the usual providers' errors are known.

        A stream is begun first, since that is when a model says so: an iterator's first item is
        fetched, and what is only there to be entered is entered. It is then yours to use and to
        close: what fails after its beginning is not tried again.
        """
        return await self._context().call.run(call, budget, tools, is_overflow)

    async def add_usage(self, usage: Usage) -> bool:
        """Record what a model call cost; counted once by its id. Tell whether it was new.

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

"""How full the context is: counted by what the provider reported, else estimated."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...model import Event, Position, Read, Usage, UsageTotal
from ...rules.tokens import estimate_text
from ..reported import KEY, Reported, is_above, reported_in
from ..shown import prompt_of, tokens_of_tools
from .blocks import AsyncContextBlocks
from .reading import AsyncReading

UNMEASURED = "it could not be seen how full the context is"


class AsyncGauge(AsyncReading, AsyncContextBlocks):
    """The part of a session that knows how full its context is."""

    _reported: Reported | None = None
    _knows_reported = False

    async def context_tokens(self) -> int:
        """Tell how many tokens the next call is going to take: prompt, tools and history.

        What was reported by `add_usage` counts for what came before it, the rest is estimated.
        After an append this costs one read of the session's record.
        """
        record = await self.record()
        return await self._fullness(record.context_tokens, record.tip_position)

    async def _fullness(self, shown: int, tip: Position | None) -> int:
        """Tell the same of a history of so many tokens."""
        if self._overhead is None:
            self._overhead = await self._count_overhead()
        if not self._knows_reported:
            await self._load_reported()
        reported = self._reported
        if reported is not None and await self._holds(reported, tip):
            return max(0, reported.tokens + shown - reported.estimate)
        return shown + self._overhead

    async def _measure_anew(self) -> int:
        """Tell the same from what is stored now, whatever was known."""
        self._overhead = None
        self._knows_reported = False
        return await self.context_tokens()

    async def _count_overhead(self) -> int:
        if not self._has_context():
            return 0
        prompt = await self._context().peek()
        if prompt is None:
            prompt = prompt_of(await self.context_blocks())
        return estimate_text(prompt) + tokens_of_tools(self.tools())

    async def _holds(self, reported: Reported, tip: Position | None) -> bool:
        """Tell whether a report is about this prompt, and a message on the path to the tip."""
        if reported.overhead != self._overhead:
            return False
        known = is_above(reported, tip)
        if known is not None:
            return known
        return await self._is_on_path(reported.message, reported.depth)

    async def _load_reported(self) -> None:
        document = await self._store.find_document(self._owner, KEY, session=self._id)
        self._reported = reported_in(document)
        self._knows_reported = True

    async def _measure_by_estimate(self) -> None:
        """Go back to the estimate: an overlay changed what the report was about."""
        with self._after_a_write("a report of its size could not be deleted"):
            await self._forget_reported()

    async def _forget_reported(self) -> None:
        self._reported, self._knows_reported = None, True
        await self._store.delete_document(self._owner, KEY, session=self._id)

    async def add_usage(self, usage: Usage) -> bool:
        """Record what a model call cost; counted once by its id. Tell whether it was new.

        Name the `message` that the call gave: the context is then measured by its real size.
        """
        is_new = await self._first_creating(
            lambda: self._store.add_usage(self._owner, self._id, usage)
        )
        if usage.message is not None and usage.input_tokens:
            with self._after_a_write("the context is not measured by what was reported"):
                await self._report(usage.message, usage.input_tokens + usage.output_tokens)
        return is_new

    async def _report(self, id: str, tokens: int) -> None:
        message = await self.find(id)
        if message is None:
            return
        query = Read(leaf=message.id, limit=1, backwards=True)
        history = await self._store.read(self._owner, self._id, query)
        if self._overhead is None:
            self._overhead = await self._count_overhead()
        reported = Reported(
            message=message.id,
            segment=message.segment,
            depth=message.depth,
            tokens=tokens,
            estimate=history.context_tokens,
            overhead=self._overhead,
        )
        value = msgspec.json.encode(reported)
        await self._store.put_document(self._owner, KEY, value, session=self._id)
        self._reported, self._knows_reported = reported, True

    async def usage(self, by: Literal["model", "message"] = "model") -> list[UsageTotal]:
        """Sum what the model calls cost, by model, or by the message that each gave."""
        return await self._store.total_usage(self._owner, self._id, by=by)

    async def _changed(self, event: Event) -> None:
        """Tell of a change and of how full the context is after it."""
        if self._settings.listeners:
            await self._tell(event)
            with self._after_a_write(UNMEASURED):
                await self._after_change()

    async def _after_change(self) -> None:
        """See how full the context is, and do something about it."""
        record = await self.record()
        tokens = await self._fullness(record.context_tokens, record.tip_position)
        await self._notice(tokens, record.budget)

    async def _notice(self, tokens: int, budget: int | None) -> None:
        """Do nothing here: the part that watches does."""

"""How full the context is: counted by what the provider reported, else estimated."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...model import Event, Position, Read, SessionPatch, SessionRecord, Usage, UsageTotal
from ...rules.tokens import estimate_text
from ..reported import KEY, Reported, is_above, reported_in
from ..shown import prompt_of, tokens_of_tools
from .blocks import AsyncContextBlocks
from .reading import AsyncReading

UNMEASURED = "it could not be seen how full the context is"


class AsyncGauge(AsyncReading, AsyncContextBlocks):
    """The part of a session that knows how full its context is."""

    # What the record was when these were read: whoever changes one of them changes its version.
    _measured_at: tuple[int, int] | None = None
    _reported: Reported | None = None
    _knows_reported = False

    async def context_tokens(self) -> int:
        """Tell how many tokens the next call is going to take: prompt, tools and history.

        What was reported by `add_usage` counts for what came before it, the rest is estimated.
        After an append this costs one read of the session's record.
        """
        return await self._fullness_of(await self.record())

    async def _fullness_of(self, record: SessionRecord) -> int:
        stamp = (record.version, record.created_us)
        return await self._fullness(record.context_tokens, record.tip_position, stamp)

    async def _fullness(self, shown: int, tip: Position | None, stamp: tuple[int, int]) -> int:
        """Tell the same of a history of so many tokens, by a record of this version and age."""
        if stamp != self._measured_at:
            self._forget_measures()
            self._measured_at = stamp
        overhead = await self._count_overhead() if self._overhead is None else self._overhead
        if not self._knows_reported:
            await self._load_reported()
        reported = self._reported
        if reported is not None and await self._holds(reported, overhead, tip):
            return max(0, reported.tokens + shown - reported.estimate)
        return shown + overhead

    async def _measure_anew(self) -> int:
        """Tell the same from what is stored now, whatever was known."""
        self._forget_measures()
        return await self.context_tokens()

    def _forget_measures(self) -> None:
        self._overhead = self._measured_at = None
        self._knows_reported = False

    async def _count_overhead(self) -> int:
        """Count prompt and tools, and remember it unless the prompt is not frozen yet."""
        if not self._has_context():
            self._overhead = 0
            return 0
        prompt = await self._context().peek()
        shown = prompt_of(await self.context_blocks()) if prompt is None else prompt
        overhead = estimate_text(shown) + tokens_of_tools(self.tools())
        # Blocks change without a word in the record, and what is frozen does not.
        self._overhead = None if prompt is None else overhead
        return overhead

    async def _holds(self, reported: Reported, overhead: int, tip: Position | None) -> bool:
        """Tell whether a report is about this prompt, and a message on the path to the tip."""
        if reported.overhead != overhead:
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
        if await self._store.delete_document(self._owner, KEY, session=self._id):
            await self._tell_others()

    async def _tell_others(self) -> None:
        """Change the record's version, by which other objects see that they know too little."""
        self._forget_measures()
        await self._store.update_session(self._owner, self._id, SessionPatch())

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
        reported = Reported(
            message=message.id,
            segment=message.segment,
            depth=message.depth,
            tokens=tokens,
            estimate=history.context_tokens,
            overhead=await self._count_overhead(),
        )
        value = msgspec.json.encode(reported)
        await self._store.put_document(self._owner, KEY, value, session=self._id)
        await self._tell_others()

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
        await self._notice(await self._fullness_of(record), record.budget)

    async def _notice(self, tokens: int, budget: int | None) -> None:
        """Do nothing here: the part that watches does."""

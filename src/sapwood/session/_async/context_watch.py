"""What follows a change: listeners are told, and a context that has become full is compacted."""

from __future__ import annotations

from typing import Literal

from ...model import Appended, AppendEvent, Event, Position, StatusEvent
from ...rules.threshold import Crossing, Thresholds
from ..builder import Setup
from .auto_compaction import AsyncAutoCompaction
from .context_size import UNMEASURED, AsyncContextSize
from .listeners import AsyncListeners
from .stored_session import AsyncStoredSession
from .thresholds import AsyncThresholdWatch


class AsyncContextWatch:
    """Looks after how full the context is. It never raises: the change is stored."""

    __slots__ = ("_compaction", "_listeners", "_setup", "_size", "_stored", "_thresholds")

    def __init__(
        self,
        stored: AsyncStoredSession,
        setup: Setup,
        listeners: AsyncListeners,
        size: AsyncContextSize,
        thresholds: AsyncThresholdWatch,
        compaction: AsyncAutoCompaction,
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._listeners = listeners
        self._size = size
        self._thresholds = thresholds
        self._compaction = compaction

    async def after_append(self, appended: Appended) -> None:
        """Tell of an append and of how full the context is after it, and compact if need be."""
        with self._stored.after_a_write(UNMEASURED):
            await self._tell_append(appended)
            if appended.written:
                await self._look_after(appended)

    async def after_change(self, event: Event) -> None:
        """Do the same after another change; without listeners there is nobody to tell."""
        if self._setup.settings.listeners:
            await self._listeners.tell(event)
            with self._stored.after_a_write(UNMEASURED):
                await self._look()

    async def _tell_append(self, appended: Appended) -> None:
        event = AppendEvent(
            owner=self._stored.owner,
            session=self._stored.id,
            messages=appended.messages,
            written=appended.written,
        )
        await self._listeners.tell(event)

    async def _look_after(self, appended: Appended) -> None:
        shown, stamp = appended.context_tokens, appended.stamp
        if shown is None or stamp is None or self._setup.settings.compact_after is None:
            # The budget stands in the record, and so does what the store did not know at once.
            await self._look()
            return
        last = appended.messages[-1]
        tip = Position(last.segment, last.depth)
        await self._notice(await self._size.tokens_at(shown, tip, stamp), None)

    async def _look(self) -> None:
        record = await self._stored.record()
        await self._notice(await self._size.tokens_by(record), record.budget)

    async def _notice(self, tokens: int, budget: int | None) -> None:
        thresholds = self._thresholds.within(budget)
        crossing = await self._thresholds.cross(tokens, thresholds)
        await self._tell_status(tokens, thresholds, crossing)
        if crossing.state.above_hard:
            await self._compaction.run_if_full()

    async def _tell_status(self, tokens: int, thresholds: Thresholds, crossing: Crossing) -> None:
        crossed: Literal["soft", "hard"] | None = "soft" if crossing.crossed_soft else None
        await self._listeners.tell(
            StatusEvent(
                owner=self._stored.owner,
                session=self._stored.id,
                tokens=tokens,
                threshold=thresholds.hard,
                crossed="hard" if crossing.crossed_hard else crossed,
            )
        )

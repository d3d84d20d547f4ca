"""The thresholds of a session's context: where they are, and when they are crossed."""

from __future__ import annotations

import msgspec

from ...rules.threshold import Crossing, Thresholds, ThresholdState, cross
from ..builder import Setup
from .compactor_document import AsyncCompactorDocument
from .context_size import AsyncContextSize
from .stored_session import AsyncStoredSession


class AsyncThresholdWatch:
    """Compares the context with its thresholds. What it was above is stored: a restart knows it."""

    __slots__ = ("_above", "_compactor", "_setup", "_size", "_stored")

    def __init__(
        self,
        stored: AsyncStoredSession,
        setup: Setup,
        size: AsyncContextSize,
        compactor: AsyncCompactorDocument,
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._size = size
        self._compactor = compactor
        self._above: ThresholdState | None = None

    def within(self, budget: int | None) -> Thresholds:
        """Return the thresholds of a session with this budget."""
        threshold = self._setup.settings.compact_after
        return Thresholds.of_budget(budget) if threshold is None else Thresholds.after(threshold)

    async def is_above_hard(self) -> bool:
        """Whether the context, measured anew, holds more than the hard threshold."""
        hard = self.within((await self._stored.record()).budget).hard
        return hard is not None and await self._size.tokens_anew() > hard

    async def cross(self, tokens: int, thresholds: Thresholds) -> Crossing:
        """Compare a size with the thresholds, and remember what it is above."""
        if thresholds.hard is None:
            return Crossing(ThresholdState(), crossed_soft=False, crossed_hard=False)
        if self._above is None:
            self._above = (await self._compactor.load()).thresholds
        crossing = cross(self._above, tokens, thresholds)
        if crossing.state != self._above:
            self._above = crossing.state
            await self._compactor.change(
                lambda state: msgspec.structs.replace(state, thresholds=crossing.state)
            )
        return crossing

    async def forget(self) -> None:
        """Delete what is remembered of the context, and of its compactions."""
        await self._compactor.delete()
        self._above = None

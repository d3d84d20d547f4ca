"""What follows a change: listeners are told, and a context that has become full is compacted."""

from __future__ import annotations

import logging
from typing import Literal

import msgspec

from ...calls import AsyncCall
from ...model import Appended, AppendEvent, Event, Position, StatusEvent
from ...rules.threshold import Crossing, Thresholds, ThresholdState, cross, may_run
from ..compactor_state import KEY, CompactorState
from .compactor import AsyncCompactor
from .context_size import UNMEASURED, AsyncContextSize
from .stored_session import AsyncStoredSession

logger = logging.getLogger(__name__)


class AsyncContextWatch:
    """Looks after how full the context is. Which thresholds it was above is stored, and known.

    What follows a change never raises: the change is stored.
    """

    __slots__ = ("_above", "_compactor", "_size", "_stored")

    def __init__(
        self, stored: AsyncStoredSession, size: AsyncContextSize, compactor: AsyncCompactor
    ) -> None:
        self._stored = stored
        self._size = size
        self._compactor = compactor
        self._above: ThresholdState | None = None

    async def after_append(self, appended: Appended) -> None:
        """Report an append and how full the context is after it, and compact if need be."""
        stored = self._stored
        with stored.after_a_write(UNMEASURED):
            await stored.tell(
                AppendEvent(
                    owner=stored.owner,
                    session=stored.id,
                    messages=appended.messages,
                    written=appended.written,
                )
            )
            if appended.written:
                await self._look_after(appended)

    async def after_change(self, event: Event) -> None:
        """Do the same after another change; without listeners there is nobody to tell."""
        if self._stored.setup.settings.listeners:
            await self._stored.tell(event)
            with self._stored.after_a_write(UNMEASURED):
                await self._look()

    async def _look_after(self, appended: Appended) -> None:
        shown, stamp = appended.context_tokens, appended.stamp
        if shown is None or stamp is None or self._stored.setup.settings.compact_after is None:
            # The budget stands in the record, and so does what the store did not know at once.
            await self._look()
            return
        last = appended.messages[-1]
        tip = Position(last.segment, last.depth)
        await self._notice(await self._size.tokens_at(shown, tip, stamp), None)

    async def _look(self) -> None:
        record = await self._stored.record()
        await self._notice(await self._size.tokens(record), record.budget)

    async def _notice(self, tokens: int, budget: int | None) -> None:
        thresholds = self._within(budget)
        crossing = await self._cross(tokens, thresholds)
        crossed: Literal["soft", "hard"] | None = "soft" if crossing.crossed_soft else None
        await self._stored.tell(
            StatusEvent(
                owner=self._stored.owner,
                session=self._stored.id,
                tokens=tokens,
                threshold=thresholds.hard,
                crossed="hard" if crossing.crossed_hard else crossed,
            )
        )
        if crossing.state.above_hard:
            await self.compact_if_full()

    def _within(self, budget: int | None) -> Thresholds:
        """Return the thresholds of a session with this budget."""
        threshold = self._stored.setup.settings.compact_after
        return Thresholds.of_budget(budget) if threshold is None else Thresholds.after(threshold)

    async def _cross(self, tokens: int, thresholds: Thresholds) -> Crossing:
        """Compare a size with the thresholds, and remember what it is above."""
        if thresholds.hard is None:
            return Crossing(ThresholdState(), crossed_soft=False, crossed_hard=False)
        if self._above is None:
            self._above = (await self._stored.load_document(KEY, CompactorState)).thresholds
        crossing = cross(self._above, tokens, thresholds)
        if crossing.state != self._above:
            self._above = crossing.state
            await self._stored.change_document(
                KEY,
                CompactorState,
                lambda state: msgspec.structs.replace(state, thresholds=crossing.state),
            )
        return crossing

    async def is_full(self) -> bool:
        """Whether the context, measured anew, holds more than the hard threshold."""
        hard = self._within((await self._stored.record()).budget).hard
        return hard is not None and await self._size.tokens_anew() > hard

    async def compact_if_full(self) -> None:
        """Compact when that is set, the context is really full and the breaker lets it.

        Never raises: what it follows has gone through.
        """
        if not self._stored.setup.settings.compacts_by_itself:
            return
        try:
            if await self.is_full():
                tokens = await self._size.tokens()
                state = await self._stored.load_document(KEY, CompactorState)
                if may_run(state.breaker, tokens):
                    await self._compactor.compact("threshold")
        except Exception as error:  # noqa: BLE001 - the append that it follows has gone through
            await self._tell_error(error)

    async def _tell_error(self, error: Exception) -> None:
        handler = self._stored.setup.settings.on_compaction_error
        if handler is None:
            message = "session %r could not be compacted: %s"
            logger.warning(message, self._stored.id, error, exc_info=error)
            return
        try:
            await AsyncCall.now(handler, error)
        except Exception:  # what others supplied must not undo what was stored
            logger.warning("the handler of compaction errors failed", exc_info=True)

    async def forget(self) -> None:
        """Delete what is remembered of the context, and of its compactions."""
        await self._stored.delete_document(KEY)
        self._above = None

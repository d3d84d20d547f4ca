"""Looking after how full the context is: who is told, and when it is compacted by itself."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

import msgspec

from ...calling import AsyncCall
from ...errors import StaleVersionError
from ...model import StatusEvent
from ...rules.threshold import Crossing, Thresholds, ThresholdState, cross
from ..compactor_state import KEY, CompactorState, state_in
from .overlaying import AsyncOverlaying

logger = logging.getLogger(__name__)


class AsyncWatching(AsyncOverlaying):
    """The part of a session that notices when its context gets full."""

    _above: ThresholdState | None = None

    async def needs_compaction(self) -> bool:
        """Tell whether the context holds more than `compact_after`, or 0.8 of the budget."""
        hard = self._thresholds((await self.record()).budget).hard
        return hard is not None and await self._measure_anew() > hard

    def _thresholds(self, budget: int | None) -> Thresholds:
        if self._settings.compact_after is not None:
            return Thresholds.after(self._settings.compact_after)
        return Thresholds.of_budget(budget)

    async def _notice(self, tokens: int, budget: int | None) -> None:
        thresholds = self._thresholds(budget)
        crossing = await self._cross(tokens, thresholds)
        await self._tell_status(tokens, thresholds, crossing)
        if crossing.state.above_hard and self._settings.compacts_by_itself:
            await self._compact_by_itself()

    async def _compact_by_itself(self) -> None:
        """Do nothing here: the part that compacts does."""

    async def _cross(self, tokens: int, thresholds: Thresholds) -> Crossing:
        """Compare with the thresholds; what was above before is stored, so a restart knows it."""
        if thresholds.hard is None:
            return Crossing(ThresholdState(), crossed_soft=False, crossed_hard=False)
        if self._above is None:
            self._above = (await self._state()).thresholds
        crossing = cross(self._above, tokens, thresholds)
        if crossing.state != self._above:
            self._above = crossing.state
            await self._change_state(
                lambda state: msgspec.structs.replace(state, thresholds=crossing.state)
            )
        return crossing

    async def _tell_status(self, tokens: int, thresholds: Thresholds, crossing: Crossing) -> None:
        crossed: Literal["soft", "hard"] | None = "soft" if crossing.crossed_soft else None
        await self._tell(
            StatusEvent(
                owner=self._owner,
                session=self._id,
                tokens=tokens,
                threshold=thresholds.hard,
                crossed="hard" if crossing.crossed_hard else crossed,
            )
        )

    async def _tell_error(self, error: Exception) -> None:
        """Hand an error of a compaction that started by itself to whoever is set for it."""
        handler = self._settings.on_compaction_error
        if handler is None:
            logger.warning("session %r could not be compacted: %s", self._id, error, exc_info=error)
            return
        try:
            await AsyncCall.now(handler, error)
        except Exception:  # what others supplied must not undo what was stored
            logger.warning("the handler of compaction errors failed", exc_info=True)

    async def _forget_the_past(self) -> None:
        await super()._forget_the_past()
        await self._store.delete_document(self._owner, KEY, session=self._id)
        self._above = None

    async def _state(self) -> CompactorState:
        document = await self._store.find_document(self._owner, KEY, session=self._id)
        return state_in(document, self._id)

    async def _change_state(self, change: Callable[[CompactorState], CompactorState]) -> None:
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            document = await self._store.find_document(self._owner, KEY, session=self._id)
            value = msgspec.json.encode(change(state_in(document, self._id)))
            try:
                await self._store.put_document(
                    self._owner,
                    KEY,
                    value,
                    session=self._id,
                    expected_version=0 if document is None else document.version,
                )
            except StaleVersionError:
                continue
            return

"""Compaction that starts by itself, when the context has become too full."""

from __future__ import annotations

import logging

from ...calls import AsyncCall
from ..builder import Setup
from .breaker import AsyncBreaker
from .compactor import AsyncCompactor
from .context_size import AsyncContextSize
from .stored_session import AsyncStoredSession
from .thresholds import AsyncThresholdWatch

logger = logging.getLogger(__name__)


class AsyncAutoCompaction:
    """Compacts a session when its context is full, unless the breaker holds it back."""

    __slots__ = ("_breaker", "_compactor", "_setup", "_size", "_stored", "_thresholds")

    def __init__(
        self,
        stored: AsyncStoredSession,
        setup: Setup,
        size: AsyncContextSize,
        thresholds: AsyncThresholdWatch,
        breaker: AsyncBreaker,
        compactor: AsyncCompactor,
    ) -> None:
        self._stored = stored
        self._setup = setup
        self._size = size
        self._thresholds = thresholds
        self._breaker = breaker
        self._compactor = compactor

    async def run_if_full(self) -> None:
        """Compact when that is set, the context is really full and the breaker lets it.

        Never raises: what it follows has gone through.
        """
        if not self._setup.settings.compacts_by_itself:
            return
        try:
            if not await self._thresholds.is_above_hard():
                return
            if await self._breaker.may_run(await self._size.tokens()):
                await self._compactor.compact("threshold")
        except Exception as error:  # noqa: BLE001 - the append that it follows has gone through
            await self._tell(error)

    async def _tell(self, error: Exception) -> None:
        """Hand an error to whoever is set for it."""
        handler = self._setup.settings.on_compaction_error
        if handler is None:
            message = "session %r could not be compacted: %s"
            logger.warning(message, self._stored.id, error, exc_info=error)
            return
        try:
            await AsyncCall.now(handler, error)
        except Exception:  # what others supplied must not undo what was stored
            logger.warning("the handler of compaction errors failed", exc_info=True)

"""Who is told of what happens to a session."""

from __future__ import annotations

import logging

from ...calls import AsyncCall
from ...model import Event
from ..builder import Setup

logger = logging.getLogger(__name__)


class AsyncListeners:
    """The listeners that are set; one that fails harms nothing."""

    __slots__ = ("_setup",)

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    async def tell(self, event: Event) -> None:
        """Call each listener with an event, one after the other."""
        for listener in self._setup.settings.listeners:
            try:
                await AsyncCall.now(listener, event)
            except Exception:  # what others supplied must not undo what was stored
                # What was said stands in the event, and belongs into no log.
                logger.warning(
                    "a listener failed at a %s of session %r of %r",
                    type(event).__name__,
                    event.session,
                    event.owner,
                    exc_info=True,
                )

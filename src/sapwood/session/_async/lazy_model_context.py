"""The model's context of a session, made when it is first needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..builder import Setup
from .stored_session import AsyncStoredSession

# Loaded with the first of them: who only appends and reads does not pay for it.
if TYPE_CHECKING:
    from .model_context import AsyncModelContext

_making = threading.Lock()


class AsyncLazyModelContext:
    """Called, it returns the context, the same one each time."""

    __slots__ = ("_made", "_setup", "_stored")

    def __init__(self, stored: AsyncStoredSession, setup: Setup) -> None:
        self._stored = stored
        self._setup = setup
        self._made: AsyncModelContext | None = None

    def __call__(self) -> AsyncModelContext:
        return self._made or self._make()

    def _make(self) -> AsyncModelContext:
        from .model_context import AsyncModelContext

        # It remembers things: threads that need it at the same time must get the same one.
        with _making:
            if self._made is None:
                self._made = AsyncModelContext(self._stored, self._setup)
            return self._made

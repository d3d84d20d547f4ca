"""What is waited for in a turn, ended when the turn is stopped from outside.

`AsyncStops` is for the async twin: it cancels what is awaited. Without a loop nothing can be
cancelled, so `Stops` of the sync twin is heard before and after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import TurnStoppedError

if TYPE_CHECKING:
    import asyncio


class _Stopped:
    """Whether the turn was stopped, as far as its holder knows."""

    def __init__(self) -> None:
        self.is_stopped = False

    def _refuse(self) -> None:
        if self.is_stopped:
            raise TurnStoppedError("the turn was stopped: it writes nothing more")


class AsyncStops(_Stopped):
    """A `with` around each await that may take long."""

    def __init__(self) -> None:
        super().__init__()
        import asyncio

        self._current_task = asyncio.current_task
        self._cancelled = asyncio.CancelledError
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._has_cancelled = False

    def stop(self) -> None:
        """Raise `TurnStoppedError` where something is awaited, or will be."""
        self.is_stopped = True
        if self._task is not None and self._task is not self._current_task():
            self._has_cancelled = self._task.cancel()

    def __enter__(self) -> None:
        self._refuse()
        self._task = task = self._current_task()
        self._cancelling = 0 if task is None else task.cancelling()

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None:
        task, self._task = self._task, None
        if kind is None or not self._has_cancelled or not issubclass(kind, self._cancelled):
            return
        # Somebody else may have cancelled it, too.
        if task is not None and task.uncancel() <= self._cancelling:
            self._refuse()


class Stops(_Stopped):
    """A `with` around each call that may take long."""

    def stop(self) -> None:
        """Raise `TurnStoppedError` where something is to be waited for."""
        self.is_stopped = True

    def __enter__(self) -> None:
        self._refuse()

    def __exit__(self, kind: type[BaseException] | None, *details: Any) -> None: ...

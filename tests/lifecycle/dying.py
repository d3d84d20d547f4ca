"""A real store under a process that dies at a certain call."""

from __future__ import annotations

from typing import Any


class DiedError(BaseException):
    """What ends a process: nothing may catch it."""


class DyingStore:
    """Hands calls on until there have been so many; then its process is dead."""

    def __init__(self, store: Any, calls: int) -> None:
        self._store = store
        self._left = calls
        self.has_died = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                self.has_died = True
                raise DiedError
            return found(*args, **kwargs)

        return call

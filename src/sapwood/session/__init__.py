"""Sessions as an agent uses them: thin, and without any state of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._sync.manager import SessionManager
from ._sync.session import Session

if TYPE_CHECKING:
    from ._async.manager import AsyncSessionManager
    from ._async.session import AsyncSession

__all__ = ["AsyncSession", "AsyncSessionManager", "Session", "SessionManager"]


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> object:
        # Loaded when it is asked for: a program without a loop does not pay for it.
        if name in ("AsyncSession", "AsyncSessionManager"):
            from importlib import import_module

            value = getattr(import_module("._async.manager", __name__), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

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
    from ..lazy_names import lazy_names

    # A program without a loop does not pay for it.
    __getattr__ = lazy_names(
        __name__,
        {"AsyncSession": "._async.session", "AsyncSessionManager": "._async.manager"},
    )

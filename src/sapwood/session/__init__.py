"""Sessions as an agent uses them: thin, and without any state of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._sync.manager import SessionManager
from ._sync.session import Session

if TYPE_CHECKING:
    from ._async.manager import AsyncSessionManager
    from ._async.session import AsyncSession
    from ._async.turn import AsyncTurn
    from ._async.turn_answer import AsyncTurnAnswer
    from ._async.turn_stream import AsyncTurnStream
    from ._sync.turn import Turn
    from ._sync.turn_answer import TurnAnswer
    from ._sync.turn_stream import TurnStream

__all__ = [
    "AsyncSession",
    "AsyncSessionManager",
    "AsyncTurn",
    "AsyncTurnAnswer",
    "AsyncTurnStream",
    "Session",
    "SessionManager",
    "Turn",
    "TurnAnswer",
    "TurnStream",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ..lazy_names import lazy_names

    # A program without a loop, or without turns, does not pay for them.
    __getattr__ = lazy_names(
        __name__,
        {
            "AsyncSession": "._async.session",
            "AsyncSessionManager": "._async.manager",
            "AsyncTurn": "._async.turn",
            "AsyncTurnAnswer": "._async.turn_answer",
            "AsyncTurnStream": "._async.turn_stream",
            "Turn": "._sync.turn",
            "TurnAnswer": "._sync.turn_answer",
            "TurnStream": "._sync.turn_stream",
        },
    )

"""How sessions begin, switch, rest, end and are tidied up, by key, in every process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._async.daily_log import AsyncDailyLog
    from ._async.hook_event import AsyncHookEvent
    from ._sync.daily_log import DailyLog
    from ._sync.hook_event import HookEvent
    from .background import StopReport
    from .report import FoundTurn, RecoveryReport, SessionInfo, SweepReport, SweptSession

__all__ = [
    "AsyncDailyLog",
    "AsyncHookEvent",
    "DailyLog",
    "FoundTurn",
    "HookEvent",
    "RecoveryReport",
    "SessionInfo",
    "StopReport",
    "SweepReport",
    "SweptSession",
]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that is there
    from ..lazy_names import lazy_names

    # A program needs one of the twins.
    __getattr__ = lazy_names(
        __name__,
        {
            "AsyncDailyLog": "._async.daily_log",
            "AsyncHookEvent": "._async.hook_event",
            "DailyLog": "._sync.daily_log",
            "FoundTurn": ".report",
            "HookEvent": "._sync.hook_event",
            "RecoveryReport": ".report",
            "SessionInfo": ".report",
            "StopReport": ".background",
            "SweepReport": ".report",
            "SweptSession": ".report",
        },
    )

"""How sessions begin, switch, rest, end and are tidied up, by key, in every process."""

from __future__ import annotations

from ._async.daily_log import AsyncDailyLog
from ._async.hook_event import AsyncHookEvent
from ._async.lifecycle import AsyncLifecycle
from ._async.recovery import AsyncRecovery
from ._async.sweep import AsyncSweep
from ._async.title_writer import AsyncTitleWriter
from ._sync.daily_log import DailyLog
from ._sync.hook_event import HookEvent
from ._sync.lifecycle import Lifecycle
from ._sync.recovery import Recovery
from ._sync.sweep import Sweep
from ._sync.title_writer import TitleWriter
from .background import AsyncBackground, Background, StopReport
from .report import RecoveryReport, SessionInfo, SweepReport, SweptSession

__all__ = [
    "AsyncBackground",
    "AsyncDailyLog",
    "AsyncHookEvent",
    "AsyncLifecycle",
    "AsyncRecovery",
    "AsyncSweep",
    "AsyncTitleWriter",
    "Background",
    "DailyLog",
    "HookEvent",
    "Lifecycle",
    "Recovery",
    "RecoveryReport",
    "SessionInfo",
    "StopReport",
    "Sweep",
    "SweepReport",
    "SweptSession",
    "TitleWriter",
]

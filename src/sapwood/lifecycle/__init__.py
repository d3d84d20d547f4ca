"""How sessions begin, switch, rest, end and are tidied up, by key, in every process."""

from __future__ import annotations

from ._async.hook_event import AsyncHookEvent
from ._async.lifecycle import AsyncLifecycle
from ._sync.hook_event import HookEvent
from ._sync.lifecycle import Lifecycle

__all__ = ["AsyncHookEvent", "AsyncLifecycle", "HookEvent", "Lifecycle"]

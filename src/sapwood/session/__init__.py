"""Sessions as an agent uses them: thin, and without any state of their own."""

from ._async.manager import AsyncSessionManager
from ._async.session import AsyncSession
from ._sync.manager import SessionManager
from ._sync.session import Session

__all__ = ["AsyncSession", "AsyncSessionManager", "Session", "SessionManager"]

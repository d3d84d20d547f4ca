"""All that can be done on a record log."""

from __future__ import annotations

from .admin import AsyncLogAdmin
from .documents import AsyncLogDocuments
from .feed import AsyncLogFeed
from .index_reads import AsyncLogIndexReads
from .logs import AsyncLogs
from .messages import AsyncLogMessages
from .overlays import AsyncLogOverlays
from .search import AsyncLogSearch
from .sessions import AsyncLogSessions
from .usage import AsyncLogUsage


class AsyncLogUnit:
    """The subjects of work, over one database."""

    def __init__(self, logs: AsyncLogs) -> None:
        self.logs = logs
        self.sessions = AsyncLogSessions(logs)
        self.messages = AsyncLogMessages(logs)
        self.overlays = AsyncLogOverlays(logs)
        self.documents = AsyncLogDocuments(logs)
        self.search = AsyncLogSearch(logs)
        self.sighting = AsyncLogIndexReads(logs)
        self.usage = AsyncLogUsage(logs)
        self.feed = AsyncLogFeed(logs)
        self.admin = AsyncLogAdmin(logs)

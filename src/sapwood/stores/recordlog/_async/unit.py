"""All that can be done on a record log."""

from __future__ import annotations

from .admin import AsyncLogAdmin
from .desk import AsyncDesk
from .documents import AsyncLogDocuments
from .feed import AsyncLogFeed
from .messages import AsyncLogMessages
from .overlays import AsyncLogOverlays
from .searching import AsyncLogSearch
from .sessions import AsyncLogSessions
from .sighting import AsyncLogSighting
from .usage import AsyncLogUsage


class AsyncLogUnit:
    """The subjects of work, over one database."""

    def __init__(self, desk: AsyncDesk) -> None:
        self.desk = desk
        self.sessions = AsyncLogSessions(desk)
        self.messages = AsyncLogMessages(desk)
        self.overlays = AsyncLogOverlays(desk)
        self.documents = AsyncLogDocuments(desk)
        self.search = AsyncLogSearch(desk)
        self.sighting = AsyncLogSighting(desk)
        self.usage = AsyncLogUsage(desk)
        self.feed = AsyncLogFeed(desk)
        self.admin = AsyncLogAdmin(desk)

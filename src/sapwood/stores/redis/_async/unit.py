"""All that can be done in one unit of work."""

from __future__ import annotations

from .admin import AsyncRedisAdmin
from .context import AsyncRedisContext
from .documents import AsyncRedisDocuments
from .feed import AsyncRedisFeed
from .messages import AsyncRedisMessages
from .overlays import AsyncRedisOverlays
from .search import AsyncRedisSearch
from .sessions import AsyncRedisSessions
from .usage import AsyncRedisUsage


class AsyncRedisUnit:
    """The subjects of work."""

    def __init__(self, context: AsyncRedisContext) -> None:
        self.sessions = AsyncRedisSessions(context)
        self.messages = AsyncRedisMessages(context)
        self.overlays = AsyncRedisOverlays(context)
        self.documents = AsyncRedisDocuments(context)
        self.usage = AsyncRedisUsage(context)
        self.feed = AsyncRedisFeed(context)
        self.search = AsyncRedisSearch(context)
        self.admin = AsyncRedisAdmin(context)

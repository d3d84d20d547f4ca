"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from .admin import AsyncPostgresAdmin
from .documents import AsyncPostgresDocuments
from .feed import AsyncPostgresFeed
from .messages import AsyncPostgresMessages
from .overlays import AsyncPostgresOverlays
from .searching import AsyncPostgresSearch
from .sessions import AsyncPostgresSessions
from .tx import AsyncTx
from .usage import AsyncPostgresUsage


class AsyncPostgresUnit:
    """The subjects of work, over one connection."""

    def __init__(self, tx: AsyncTx) -> None:
        self.tx = tx
        self.sessions = AsyncPostgresSessions(tx)
        self.messages = AsyncPostgresMessages(tx)
        self.overlays = AsyncPostgresOverlays(tx)
        self.documents = AsyncPostgresDocuments(tx)
        self.usage = AsyncPostgresUsage(tx)
        self.feed = AsyncPostgresFeed(tx)
        self.search = AsyncPostgresSearch(tx)
        self.admin = AsyncPostgresAdmin(tx)

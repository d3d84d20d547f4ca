"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from ...relational._async.documents import AsyncRelationalDocuments
from ...relational._async.feed import AsyncRelationalFeed
from ...relational._async.messages import AsyncRelationalMessages
from ...relational._async.overlays import AsyncRelationalOverlays
from ...relational._async.sessions import AsyncRelationalSessions
from ...relational._async.sweep import AsyncRelationalSweep
from ...relational._async.usage import AsyncRelationalUsage
from .admin import AsyncPostgresAdmin
from .dialect import AsyncPostgresDialect
from .searching import AsyncPostgresSearch
from .tx import AsyncTx


class AsyncPostgresUnit:
    """The subjects of work, over one connection."""

    def __init__(self, tx: AsyncTx) -> None:
        dialect = AsyncPostgresDialect(tx)
        self.tx = tx
        self.sessions = AsyncRelationalSessions(dialect)
        self.messages = AsyncRelationalMessages(dialect)
        self.overlays = AsyncRelationalOverlays(dialect)
        self.documents = AsyncRelationalDocuments(dialect)
        self.usage = AsyncRelationalUsage(dialect)
        self.sweep = AsyncRelationalSweep(dialect)
        self.feed = AsyncRelationalFeed(dialect)
        self.search = AsyncPostgresSearch(tx, dialect)
        self.admin = AsyncPostgresAdmin(tx)

"""The statements of the PostgreSQL store, by subject."""

from __future__ import annotations

from .documents import AsyncPostgresDocumentStatements
from .feed import AsyncPostgresFeedStatements
from .fork import AsyncPostgresForkStatements
from .listing import AsyncPostgresListingStatements
from .lookup import AsyncPostgresLookupStatements
from .messages import AsyncPostgresMessageStatements
from .overlays import AsyncPostgresOverlayStatements
from .sessions import AsyncPostgresSessionStatements
from .sums import AsyncPostgresSumStatements
from .sweep import AsyncPostgresSweepStatements
from .tx import AsyncTx
from .usage import AsyncPostgresUsageStatements


class AsyncPostgresDialect:
    """All statements, on one connection."""

    def __init__(self, tx: AsyncTx) -> None:
        self.now = tx.now
        self.lookup = AsyncPostgresLookupStatements(tx)
        self.sums = AsyncPostgresSumStatements(tx)
        self.messages = AsyncPostgresMessageStatements(tx)
        self.overlays = AsyncPostgresOverlayStatements(tx)
        self.sessions = AsyncPostgresSessionStatements(tx)
        self.listing = AsyncPostgresListingStatements(tx)
        self.fork = AsyncPostgresForkStatements(tx)
        self.sweep = AsyncPostgresSweepStatements(tx)
        self.feed = AsyncPostgresFeedStatements(tx)
        self.documents = AsyncPostgresDocumentStatements(tx)
        self.usage = AsyncPostgresUsageStatements(tx)

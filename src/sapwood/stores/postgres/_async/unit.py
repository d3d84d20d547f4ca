"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from ...relational._async.dialect import AsyncDialect
from ...relational._async.unit import AsyncRelationalUnit
from .admin import AsyncPostgresAdmin
from .data import AsyncPostgresDataStatements
from .documents import AsyncPostgresDocumentStatements
from .feed import AsyncPostgresFeedStatements
from .fork import AsyncPostgresForkStatements
from .listing import AsyncPostgresListingStatements
from .lookup import AsyncPostgresLookupStatements
from .messages import AsyncPostgresMessageStatements
from .overlays import AsyncPostgresOverlayStatements
from .recent import AsyncPostgresRecentStatements
from .search import AsyncPostgresSearch
from .sessions import AsyncPostgresSessionStatements
from .sums import AsyncPostgresSumStatements
from .sweep import AsyncPostgresSweepStatements
from .tx import AsyncTx
from .usage import AsyncPostgresUsageStatements


class AsyncPostgresUnit(AsyncRelationalUnit):
    """The subjects of work, over one connection."""

    def __init__(self, tx: AsyncTx) -> None:
        dialect = AsyncDialect(
            now=tx.now,
            lookup=AsyncPostgresLookupStatements(tx),
            sums=AsyncPostgresSumStatements(tx),
            messages=AsyncPostgresMessageStatements(tx),
            recent=AsyncPostgresRecentStatements(tx),
            data=AsyncPostgresDataStatements(tx),
            overlays=AsyncPostgresOverlayStatements(tx),
            sessions=AsyncPostgresSessionStatements(tx),
            listing=AsyncPostgresListingStatements(tx),
            fork=AsyncPostgresForkStatements(tx),
            sweep=AsyncPostgresSweepStatements(tx),
            feed=AsyncPostgresFeedStatements(tx),
            documents=AsyncPostgresDocumentStatements(tx),
            usage=AsyncPostgresUsageStatements(tx),
        )
        super().__init__(dialect)
        self.tx = tx
        self.search = AsyncPostgresSearch(tx, dialect)
        self.admin = AsyncPostgresAdmin(tx)

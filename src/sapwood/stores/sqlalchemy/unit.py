"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from ..relational._sync.dialect import Dialect
from ..relational._sync.unit import RelationalUnit
from .admin import SqlAdmin
from .documents import SqlDocumentStatements
from .feed import SqlFeedStatements
from .fork import SqlForkStatements
from .listing import SqlListingStatements
from .lookup import SqlLookupStatements
from .messages import SqlMessageStatements
from .overlays import SqlOverlayStatements
from .search import SqlSearch
from .sessions import SqlSessionStatements
from .sums import SqlSumStatements
from .sweep import SqlSweepStatements
from .tx import Tx
from .usage import SqlUsageStatements


class SqlUnit(RelationalUnit):
    """The subjects of work, over one connection."""

    def __init__(self, tx: Tx) -> None:
        dialect = Dialect(
            now=tx.now,
            lookup=SqlLookupStatements(tx),
            sums=SqlSumStatements(tx),
            messages=SqlMessageStatements(tx),
            overlays=SqlOverlayStatements(tx),
            sessions=SqlSessionStatements(tx),
            listing=SqlListingStatements(tx),
            fork=SqlForkStatements(tx),
            sweep=SqlSweepStatements(tx),
            feed=SqlFeedStatements(tx),
            documents=SqlDocumentStatements(tx),
            usage=SqlUsageStatements(tx),
        )
        super().__init__(dialect)
        self.tx = tx
        self.search = SqlSearch(tx, dialect)
        self.admin = SqlAdmin(tx)

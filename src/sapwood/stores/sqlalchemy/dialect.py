"""The statements of the SQLAlchemy store, by subject."""

from __future__ import annotations

from .documents import SqlDocumentStatements
from .feed import SqlFeedStatements
from .fork import SqlForkStatements
from .listing import SqlListingStatements
from .lookup import SqlLookupStatements
from .messages import SqlMessageStatements
from .overlays import SqlOverlayStatements
from .sessions import SqlSessionStatements
from .sums import SqlSumStatements
from .sweep import SqlSweepStatements
from .tx import Tx
from .usage import SqlUsageStatements


class SqlDialect:
    """All statements, on one connection."""

    def __init__(self, tx: Tx) -> None:
        self.now = tx.now
        self.lookup = SqlLookupStatements(tx)
        self.sums = SqlSumStatements(tx)
        self.messages = SqlMessageStatements(tx)
        self.overlays = SqlOverlayStatements(tx)
        self.sessions = SqlSessionStatements(tx)
        self.listing = SqlListingStatements(tx)
        self.fork = SqlForkStatements(tx)
        self.sweep = SqlSweepStatements(tx)
        self.feed = SqlFeedStatements(tx)
        self.documents = SqlDocumentStatements(tx)
        self.usage = SqlUsageStatements(tx)

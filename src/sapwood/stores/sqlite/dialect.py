"""The statements of the SQLite store, by subject."""

from __future__ import annotations

from .connection import Connection
from .documents import SqliteDocumentStatements
from .feed import SqliteFeedStatements
from .fork import SqliteForkStatements
from .listing import SqliteListingStatements
from .lookup import SqliteLookupStatements
from .messages import SqliteMessageStatements
from .overlays import SqliteOverlayStatements
from .sessions import SqliteSessionStatements
from .sums import SqliteSumStatements
from .sweep import SqliteSweepStatements
from .usage import SqliteUsageStatements


class SqliteDialect:
    """All statements, on one connection."""

    def __init__(self, tx: Connection) -> None:
        self.now = tx.clock
        self.lookup = SqliteLookupStatements(tx)
        self.sums = SqliteSumStatements(tx)
        self.messages = SqliteMessageStatements(tx)
        self.overlays = SqliteOverlayStatements(tx)
        self.sessions = SqliteSessionStatements(tx)
        self.listing = SqliteListingStatements(tx)
        self.fork = SqliteForkStatements(tx)
        self.sweep = SqliteSweepStatements(tx)
        self.feed = SqliteFeedStatements(tx)
        self.documents = SqliteDocumentStatements(tx)
        self.usage = SqliteUsageStatements(tx)

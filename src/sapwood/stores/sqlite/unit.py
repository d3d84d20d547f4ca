"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from collections.abc import Callable

from ..relational._sync.documents import RelationalDocuments
from ..relational._sync.overlays import RelationalOverlays
from ..relational._sync.sessions import RelationalSessions
from ..relational._sync.usage import RelationalUsage
from .admin import SqliteAdmin
from .connection import Connection
from .dialect import SqliteDialect
from .feed import SqliteFeed
from .index.reader import IndexReader
from .messages import SqliteMessages
from .searching import SqliteSearch


class SqliteUnit:
    """The subjects of work, over one connection."""

    def __init__(
        self, tx: Connection, index_path: str, on_lag: Callable[[], None] | None = None
    ) -> None:
        dialect = SqliteDialect(tx)
        self.tx = tx
        self.sessions = RelationalSessions(dialect)
        self.messages = SqliteMessages(tx)
        self.overlays = RelationalOverlays(dialect)
        self.documents = RelationalDocuments(dialect)
        self.usage = RelationalUsage(dialect)
        self.feed = SqliteFeed(tx)
        self.search = SqliteSearch(tx, IndexReader(index_path, tx.clock), on_lag)
        self.admin = SqliteAdmin(tx)

    def close(self) -> None:
        """Close its connections; what was not committed is gone."""
        self.search.close()
        self.tx.close()

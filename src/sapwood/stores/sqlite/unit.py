"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from .admin import SqliteAdmin
from .connection import Connection
from .documents import SqliteDocuments
from .feed import SqliteFeed
from .messages import SqliteMessages
from .overlays import SqliteOverlays
from .sessions import SqliteSessions
from .usage import SqliteUsage


class SqliteUnit:
    """The subjects of work, over one connection."""

    def __init__(self, tx: Connection) -> None:
        self.tx = tx
        self.sessions = SqliteSessions(tx)
        self.messages = SqliteMessages(tx)
        self.overlays = SqliteOverlays(tx)
        self.documents = SqliteDocuments(tx)
        self.usage = SqliteUsage(tx)
        self.feed = SqliteFeed(tx)
        self.admin = SqliteAdmin(tx)

"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from .admin import SqlAdmin
from .documents import SqlDocuments
from .feed import SqlFeed
from .messages import SqlMessages
from .overlays import SqlOverlays
from .searching import SqlSearch
from .sessions import SqlSessions
from .tx import Tx
from .usage import SqlUsage


class SqlUnit:
    """The subjects of work, over one connection."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.sessions = SqlSessions(tx)
        self.messages = SqlMessages(tx)
        self.overlays = SqlOverlays(tx)
        self.documents = SqlDocuments(tx)
        self.usage = SqlUsage(tx)
        self.feed = SqlFeed(tx)
        self.search = SqlSearch(tx)
        self.admin = SqlAdmin(tx)

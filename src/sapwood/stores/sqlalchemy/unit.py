"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from ..relational._sync.documents import RelationalDocuments
from ..relational._sync.feed import RelationalFeed
from ..relational._sync.messages import RelationalMessages
from ..relational._sync.overlays import RelationalOverlays
from ..relational._sync.sessions import RelationalSessions
from ..relational._sync.sweep import RelationalSweep
from ..relational._sync.usage import RelationalUsage
from .admin import SqlAdmin
from .dialect import SqlDialect
from .search import SqlSearch
from .tx import Tx


class SqlUnit:
    """The subjects of work, over one connection."""

    def __init__(self, tx: Tx) -> None:
        dialect = SqlDialect(tx)
        self.tx = tx
        self.sessions = RelationalSessions(dialect)
        self.messages = RelationalMessages(dialect)
        self.overlays = RelationalOverlays(dialect)
        self.documents = RelationalDocuments(dialect)
        self.usage = RelationalUsage(dialect)
        self.sweep = RelationalSweep(dialect)
        self.feed = RelationalFeed(dialect)
        self.search = SqlSearch(tx, dialect)
        self.admin = SqlAdmin(tx)

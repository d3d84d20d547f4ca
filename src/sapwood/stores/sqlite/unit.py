"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...model import Appended, Root
from ...rules.codec import Packed
from ..relational._sync.documents import RelationalDocuments
from ..relational._sync.feed import RelationalFeed
from ..relational._sync.messages import RelationalMessages
from ..relational._sync.overlays import RelationalOverlays
from ..relational._sync.sessions import RelationalSessions
from ..relational._sync.sweep import RelationalSweep
from ..relational._sync.usage import RelationalUsage
from .admin import SqliteAdmin
from .append import extend
from .connection import Connection
from .dialect import SqliteDialect
from .index.reader import IndexReader
from .search import SqliteSearch


class _SqliteMessages(RelationalMessages):
    """Work on messages; what nearly every append is goes by a path of its own."""

    def __init__(self, dialect: SqliteDialect, tx: Connection) -> None:
        super().__init__(dialect)
        self._tx = tx

    def append(
        self,
        owner: str,
        session: str,
        batch: Sequence[Packed],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Appended:
        if len(batch) == 1 and parent is None and expected_tip is None:
            appended = extend(self._tx, owner, session, batch[0])
            if appended is not None:
                return appended
        return super().append(owner, session, batch, parent, expected_tip)


class SqliteUnit:
    """The subjects of work, over one connection."""

    def __init__(
        self, tx: Connection, index_path: str, on_lag: Callable[[], None] | None = None
    ) -> None:
        dialect = SqliteDialect(tx)
        self.tx = tx
        self.sessions = RelationalSessions(dialect)
        self.messages = _SqliteMessages(dialect, tx)
        self.overlays = RelationalOverlays(dialect)
        self.documents = RelationalDocuments(dialect)
        self.usage = RelationalUsage(dialect)
        self.sweep = RelationalSweep(dialect)
        self.feed = RelationalFeed(dialect)
        self.search = SqliteSearch(tx, dialect, IndexReader(index_path, tx.clock), on_lag)
        self.admin = SqliteAdmin(tx)

    def close(self) -> None:
        """Close its connections; what was not committed is gone."""
        self.search.close()
        self.tx.close()

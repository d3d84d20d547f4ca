"""All that can be done in one unit of work on a connection."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ...model import Appended
from ..base.append_request import Request
from ..base.extras import NO_EXTRAS
from ..relational._sync.dialect import Dialect
from ..relational._sync.extras import refuse_by_extras, write_extras
from ..relational._sync.lookup import get_session
from ..relational._sync.messages import RelationalMessages
from ..relational._sync.unit import RelationalUnit
from .admin import SqliteAdmin
from .connection import Connection
from .data import SqliteDataStatements
from .documents import SqliteDocumentStatements
from .feed import SqliteFeedStatements
from .fork import SqliteForkStatements
from .index.reader import IndexReader
from .listing import SqliteListingStatements
from .lookup import SqliteLookupStatements
from .messages import SqliteMessageStatements, extend
from .overlays import SqliteOverlayStatements
from .recent import SqliteRecentStatements
from .search import SqliteSearch
from .sessions import SqliteSessionStatements
from .sums import SqliteSumStatements
from .sweep import SqliteSweepStatements
from .usage import SqliteUsageStatements


class _SqliteMessages(RelationalMessages):
    """Work on messages; what nearly every append is goes by a path of its own."""

    def __init__(self, dialect: Dialect, tx: Connection) -> None:
        super().__init__(dialect)
        self._tx = tx

    def append(self, request: Request) -> Appended:
        if request.is_next_with_any_data:
            appended = extend(self._tx, request.owner, request.session, request.batch[0])
            if appended is not None and request.extras is not NO_EXTRAS:
                return self._with_extras(request, appended)
            if appended is not None:
                return appended
        return super().append(request)

    def _with_extras(self, request: Request, appended: Appended) -> Appended:
        """Write what comes along; when it is refused, the unit and so the message is taken back."""
        dialect, extras = self._dialect, request.extras
        row = get_session(dialect, request.owner, request.session)
        refuse_by_extras(dialect, row, None, extras)
        versions = write_extras(dialect, row, extras)
        return replace(appended, documents=versions, context_tokens=None, stamp=None)


class SqliteUnit(RelationalUnit):
    """The subjects of work, over one connection."""

    def __init__(
        self, tx: Connection, index_path: str, on_lag: Callable[[], None] | None = None
    ) -> None:
        dialect = Dialect(
            now=tx.clock,
            lookup=SqliteLookupStatements(tx),
            sums=SqliteSumStatements(tx),
            messages=SqliteMessageStatements(tx),
            recent=SqliteRecentStatements(tx),
            data=SqliteDataStatements(tx),
            overlays=SqliteOverlayStatements(tx),
            sessions=SqliteSessionStatements(tx),
            listing=SqliteListingStatements(tx),
            fork=SqliteForkStatements(tx),
            sweep=SqliteSweepStatements(tx),
            feed=SqliteFeedStatements(tx),
            documents=SqliteDocumentStatements(tx),
            usage=SqliteUsageStatements(tx),
        )
        super().__init__(dialect)
        self.tx = tx
        self.messages = _SqliteMessages(dialect, tx)
        self.search = SqliteSearch(tx, dialect, IndexReader(index_path, tx.clock), on_lag)
        self.admin = SqliteAdmin(tx)

    def close(self) -> None:
        """Close its connections; what was not committed is gone."""
        self.search.close()
        self.tx.close()

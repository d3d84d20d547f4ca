"""Units of work on a connection: begun, done, and committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Any, TypeVar

from sqlalchemy import exc, literal_column, select
from sqlalchemy.engine import Connection

from ...model import Appended
from ..base.append_request import Request
from ..relational._sync.dialect import Dialect
from ..relational._sync.unit import RelationalUnit
from .admin import SqlAdmin
from .along import along_of
from .data import SqlDataStatements
from .documents import SqlDocumentStatements
from .drivers import refuse_mode
from .feed import SqlFeedStatements
from .fork import SqlForkStatements
from .listing import SqlListingStatements
from .locks import Mode, begin
from .lookup import SqlLookupStatements
from .messages import SqlMessageStatements
from .overlays import SqlOverlayStatements
from .quick_append import append_each, append_one
from .recent import SqlRecentStatements
from .schema import Migrator, check_theirs
from .search import SqlSearch
from .sessions import SqlSessionStatements
from .sums import SqlSumStatements
from .sweep import SqlSweepStatements
from .tx import Extra, Statements, Tx
from .usage import SqlUsageStatements

T = TypeVar("T")

ASKED_EVERY_NS = 10 * 1_000_000_000
_ASKED = ("max_allowed_packet", "sql_mode")


class SqlUnit(RelationalUnit):
    """The subjects of work, over one connection."""

    def __init__(self, tx: Tx) -> None:
        dialect = Dialect(
            now=tx.now,
            lookup=SqlLookupStatements(tx),
            sums=SqlSumStatements(tx),
            messages=SqlMessageStatements(tx),
            recent=SqlRecentStatements(tx),
            data=SqlDataStatements(tx),
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


class Worker:
    """Does units of work, each on a connection that it is given."""

    def __init__(
        self, statements: Statements, clock: Callable[[], int] | None, extra: Extra | None
    ) -> None:
        self._statements = statements
        self._tables = statements.tables
        self._clock = clock
        self._server_time: tuple[int, int] | None = None
        self._extra = extra
        self._most_bytes: int | None = None

    def begin(self, conn: Connection, mode: Mode) -> Tx:
        """Begin a transaction."""
        begin(conn, self._tables.kind, mode)
        return self._tx(conn, locks=mode is Mode.WRITE)

    def _tx(self, conn: Connection, *, locks: bool = False) -> Tx:
        tx = Tx(conn, self._statements, self._now, self._extra, locks=locks)
        tx.most_bytes = self._most_bytes
        return tx

    def _now(self, tx: Tx) -> int:
        """Count on from the server's time as it was last asked for, at most ten seconds ago."""
        if self._clock is not None:
            return self._clock()
        known, now = self._server_time, monotonic_ns()
        if known is None or now - known[1] > ASKED_EVERY_NS:
            known = self._server_time = tx.server_now(), monotonic_ns()
            now = known[1]
        return known[0] + (now - known[1]) // 1000

    def look(self, conn: Connection, work: Callable[[SqlUnit], T], mode: Mode) -> T:
        """Run work that only reads."""
        result = work(SqlUnit(self.begin(conn, mode)))
        # Not rolled back: PostgreSQL's driver would forget the statements that it prepared.
        conn.commit()
        return result

    def append(self, conn: Connection, requests: Sequence[Request]) -> Sequence[Appended | None]:
        """Append what can be appended quickly, and commit it; None for what cannot."""
        is_one = len(requests) == 1
        if is_one and along_of(self._tx(conn), requests[0]) is None:
            return [None]
        # PostgreSQL has one statement for one, which is a transaction by itself.
        is_statement = is_one and self._tables.kind == "postgresql"
        try:
            tx = self.begin(conn, Mode.GLANCE if is_statement else Mode.WRITE)
            answers = [append_one(tx, requests[0])] if is_one else append_each(tx, requests)
        except exc.IntegrityError:
            # An id is known already: it is for each to find out what that means.
            conn.rollback()
            return [None] * len(requests)
        conn.commit()
        return answers

    def make_ready(self, conn: Connection, *, is_ours: bool, may_migrate: bool) -> None:
        """Look at the tables before they are used."""
        if self._tables.kind == "mysql":
            variables: list[Any] = [literal_column(f"@@{name}") for name in _ASKED]
            asked: Any = select(*variables)
            self._most_bytes, mode = conn.execute(asked).one()
            conn.rollback()
            refuse_mode(conn.dialect.driver, mode)
        if is_ours:
            Migrator(conn, self._tables).make_ready(may_migrate=may_migrate)
            return
        check_theirs(conn, self._tables)
        conn.commit()

    def migrate(self, conn: Connection) -> int:
        """Bring the tables up to date."""
        return Migrator(conn, self._tables).migrate()

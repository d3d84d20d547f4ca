"""Units of work on a connection: begun, done, and committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import exc, literal_column, select
from sqlalchemy.engine import Connection

from ...model import Appended
from ..base.appends import Request
from .alone import append_one
from .clock import ServerClock
from .drivers import refuse_mode
from .extra import Extra
from .locks import Mode, begin
from .schema import Migrator, check_theirs
from .together import append_each
from .tx import Statements, Tx
from .unit import SqlUnit

T = TypeVar("T")
Answers = Sequence[Appended | None]
_ASKED = ("max_allowed_packet", "sql_mode")


class Worker:
    """Does units of work, each on a connection that it is given."""

    def __init__(
        self, statements: Statements, clock: Callable[[], int] | None, extra: Extra | None
    ) -> None:
        self._statements = statements
        self._tables = statements.tables
        self._given_clock = clock
        self._server_clock = ServerClock()
        self._extra = extra
        self._most_bytes: int | None = None

    def begin(self, conn: Connection, mode: Mode) -> Tx:
        """Begin a transaction."""
        begin(conn, self._tables.kind, mode)
        locks = mode is Mode.WRITE
        tx = Tx(conn, self._statements, self._now, self._extra, locks=locks)
        tx.most_bytes = self._most_bytes
        return tx

    def _now(self, tx: Tx) -> int:
        if self._given_clock is not None:
            return self._given_clock()
        return self._server_clock.read(tx.server_now)

    def look(self, conn: Connection, work: Callable[[SqlUnit], T], mode: Mode) -> T:
        """Run work that only reads."""
        result = work(SqlUnit(self.begin(conn, mode)))
        # Not rolled back: PostgreSQL's driver would forget the statements that it prepared.
        conn.commit()
        return result

    def append_one(self, conn: Connection, request: Request) -> Appended | None:
        """Append what one caller sends, if that can be done quickly, and commit it."""
        # PostgreSQL has one statement for it, which is a transaction by itself.
        mode = Mode.GLANCE if self._tables.kind == "postgresql" else Mode.WRITE
        answers = self._commit_new(conn, lambda: [append_one(self.begin(conn, mode), request)])
        return answers[0] if answers else None

    def append_each(self, conn: Connection, requests: Sequence[Request]) -> Answers:
        """Append what can be appended quickly of what several callers send, and commit it."""
        answers = self._commit_new(
            conn, lambda: append_each(self.begin(conn, Mode.WRITE), requests)
        )
        return answers if answers else [None] * len(requests)

    def _commit_new(self, conn: Connection, work: Callable[[], Answers]) -> Answers:
        """Write what is new and commit it; give nothing when some of it is known."""
        try:
            answers = work()
        except exc.IntegrityError:
            # An id is known already: it is for each to find out what that means.
            conn.rollback()
            return []
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

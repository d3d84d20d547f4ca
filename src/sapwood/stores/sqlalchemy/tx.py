"""A connection for the time of one unit of work: the few ways in which statements are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import msgspec
from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.engine import Connection, Dialect

from ...errors import MessageTooLargeError, StoreCorruptError
from ...rules.tree import LINEAGE_CAP, Place
from ..relational.position import unpack_lineage
from .direct import Direct
from .locks import advisory_number, lock_owner, now_us
from .tables import THEIRS, Tables

Statement = Callable[[Tables], Any]
ResultRow = Any

ROWS_AT_ONCE = 200
"""How many rows or keys go into one statement."""
SPARE_BYTES = 8192
"""What a statement takes besides its values."""


class NewRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is about to be added; what is not known of it is None."""

    table: str
    """Our name of its table: `session`, `message`, `document` ..."""
    owner: str | None
    session: str | None
    id: str | None


Extra = Callable[[NewRow], Mapping[str, Any]]
"""Gives the values of a new row's extra columns, by their names in the database."""


class Statements:
    """The statements of a store, each made once, so that SQLAlchemy compiles it once."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._made: dict[Any, Any] = {}

    def of(self, statement: Callable[..., Any], *args: Any) -> Any:
        """Return a statement; some depend on more than the tables."""
        key = (statement, *args) if args else statement
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = statement(self.tables, *args)
        return made

    def direct(self, dialect: Dialect, statement: Callable[..., Any], *args: Any) -> Direct:
        """Return a statement as the driver takes it."""
        key = (Direct, statement, *args)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Direct.of(self.of(statement, *args), dialect)
        return cast("Direct", made)


class Tx:
    """A connection in use by one caller."""

    def __init__(
        self,
        conn: Connection,
        statements: Statements,
        clock: Callable[[Tx], int] | None,
        extra: Extra | None = None,
        *,
        locks: bool = False,
    ) -> None:
        self.conn = conn
        self.tables = statements.tables
        self.kind = statements.tables.kind
        self.locks = locks
        self.clock = clock
        self.owner_name: str | None = None
        self.session_name: str | None = None
        self.left_to_sweep = False
        self.fills_columns = extra is not None
        self.most_bytes: int | None = None
        self.made = statements.of
        self._statements = statements
        self._extra = extra
        self._now: int | None = None
        self._lineages: dict[int, list[Place]] = {}
        self._names: dict[int, str | None] = {}

    # statements

    def rows(self, statement: Statement, **params: Any) -> Sequence[ResultRow]:
        """Run a statement and return all its rows."""
        return self.conn.execute(self.made(statement), params).all()

    def row(self, statement: Statement, **params: Any) -> ResultRow:
        """Run a statement and return its first row, or None."""
        return self.conn.execute(self.made(statement), params).first()

    def value(self, statement: Statement, **params: Any) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        found = self.row(statement, **params)
        return None if found is None else found[0]

    def run(self, statement: Statement, **params: Any) -> int:
        """Run a statement; return how many rows it touched."""
        self.refuse_large(params)
        return self.conn.execute(self.made(statement), params).rowcount

    def run_many(self, statement: Statement, params: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement for each of some parameters."""
        if params:
            self.conn.execute(self.made(statement), list(params))

    def direct(self, statement: Callable[..., Any], *args: Any) -> Direct:
        """Return a statement as the driver takes it, written down once."""
        return self._statements.direct(self.conn.dialect, statement, *args)

    # adding rows

    def add(self, table: str, **values: Any) -> int:
        """Add a row; return its number, where the database numbers them."""
        values |= self.extra_of(table, values.get("id"))
        self.refuse_large(values)
        made = self.made(_insert, table)
        key = self.conn.execute(made, values).inserted_primary_key
        return int(key[0]) if key and isinstance(key[0], int) else 0

    def add_all(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows, some at a time."""
        self.add_given(table, [row | self.extra_of(table, row.get("id")) for row in rows])

    def add_given(self, table: str, listed: list[dict[str, Any]]) -> None:
        """Add rows that have the user's columns already."""
        for row in listed:
            self.refuse_large(row)
        # What the first row lacks would be left out of all: the user's columns may differ.
        for _, alike in groupby(listed, key=dict.keys):
            some = list(alike)
            for start in range(0, len(some), ROWS_AT_ONCE):
                rows = some[start : start + ROWS_AT_ONCE]
                self.conn.execute(self.made(_insert, table), rows)

    def refuse_large(self, values: Mapping[str, Any]) -> None:
        """Refuse what MariaDB would cut the connection for; drivers write a byte as two."""
        if self.most_bytes is None:
            return
        size = sum(len(value) for value in values.values() if isinstance(value, bytes | str))
        if 2 * size + SPARE_BYTES > self.most_bytes:
            raise MessageTooLargeError(
                f"this takes {2 * size} bytes and the server's max_allowed_packet is "
                f"{self.most_bytes}: store large content elsewhere and append a reference to it, "
                "or let the server take more",
                path="message",
            )

    def extra_of(self, table: str, id: Any) -> dict[str, Any]:
        """Return the user's own columns of a new row."""
        if self._extra is None:
            return {}
        name = id if isinstance(id, str) else None
        given = self._extra(
            NewRow(table=table, owner=self.owner_name, session=self.session_name, id=name)
        )
        self.tables.know_theirs(table, given)
        return {THEIRS + column: value for column, value in given.items()}

    def next_seqs(self, count: int) -> list[dict[str, int]]:
        """Give new messages their numbers in the feed, where the database does not by itself."""
        if self.kind != "sqlite":
            return [{}] * count
        last = self.value(_count_up, count=count)
        if last is None:
            raise StoreCorruptError("the counter of messages is missing: call admin.repair()")
        return [{"seq": seq} for seq in range(last - count + 1, last + 1)]

    # what is asked for again and again

    def now(self) -> int:
        """Return the time of this unit of work: the server's, or that of a clock that was given."""
        if self._now is None:
            self._now = self.server_now() if self.clock is None else self.clock(self)
        return self._now

    def server_now(self) -> int:
        """Ask the server for the time."""
        return int(self.value(_now))

    def lineage(self, segment: int) -> list[Place]:
        """Return a segment's lineage, which never changes."""
        found = self._lineages.get(segment)
        if found is None:
            data = self.value(_lineage, segment=segment)
            if data is None:
                raise StoreCorruptError(f"segment {segment} is missing")
            found = self._lineages[segment] = unpack_lineage(data)
        return found

    def know_lineage(self, segment: int, data: bytes) -> None:
        """Keep a segment's lineage, and those of all above it if it leads to the root."""
        above = self._lineages[segment] = unpack_lineage(data)
        if len(above) < LINEAGE_CAP:
            self._lineages |= {place.segment: above[n:] for n, place in enumerate(above, 1)}

    def learn_lineages(self, segments: Sequence[int]) -> None:
        """Look up the lineages of segments that will be asked for."""
        new = [segment for segment in segments if segment not in self._lineages]
        for start in range(0, len(new), ROWS_AT_ONCE):
            for number, data in self.rows(_lineages, segments=new[start : start + ROWS_AT_ONCE]):
                self._lineages[number] = unpack_lineage(data)

    def home_name(self, home: int) -> str | None:
        """Return the id of the session behind a home's number; None when it is gone."""
        if home not in self._names:
            self._names[home] = self.value(_home_name, home=home)
        return self._names[home]

    def know_home(self, home: int, session: str) -> None:
        """Keep the id of the session behind a home's number."""
        self._names[home] = session

    # an owner's lock

    def lock_owner(self, name: str, *, shared: bool) -> None:
        """Take an owner's lock; SQLite has one writer anyway."""
        self.owner_name = name
        if self.kind != "sqlite":
            self.conn.execute(self.made(lock_owner, shared), self.owner_lock(name)).all()

    def owner_lock(self, name: str) -> dict[str, Any]:
        """Return the parameters by which an owner is locked."""
        if self.kind == "mysql":
            return {"owner_name": name}
        table = self.tables.owner
        return {"owner_lock": advisory_number(table.schema or "", table.name, name)}


def _now(t: Tables) -> Any:
    return now_us(t.kind)


def _insert(t: Tables, table: str) -> Any:
    return insert(t.of(table))


def _count_up(t: Tables) -> Any:
    c = t.counter.c
    made = update(t.counter).where(c.name == "message").values(value=c.value + bindparam("count"))
    return made.returning(c.value)


def _lineage(t: Tables) -> Any:
    return select(t.segment.c.lineage).where(t.segment.c.number == bindparam("segment"))


def _lineages(t: Tables) -> Any:
    g = t.segment.c
    return select(g.number, g.lineage).where(g.number.in_(bindparam("segments", expanding=True)))


def _home_name(t: Tables) -> Any:
    return select(t.session.c.id).where(t.session.c.home == bindparam("home"))


def select_by(table: str, *keys: str, of: Sequence[str]) -> Statement:
    """Return the query of some columns; a value is given by its column's name."""
    return lambda t: select(*(t.of(table).c[key] for key in of)).where(*_are(t, table, keys))


def delete_by(table: str, *keys: str) -> Statement:
    """Return the statement that deletes rows; a value is given by its column's name."""
    return lambda t: delete(t.of(table)).where(*_are(t, table, keys))


def update_by(table: str, *keys: str) -> Statement:
    """Return the statement that changes rows: what is found by has `of_` before its name."""
    return lambda t: update(t.of(table)).where(*_are(t, table, keys, "of_"))


def _are(t: Tables, table: str, keys: Sequence[str], prefix: str = "") -> list[Any]:
    return [t.of(table).c[key] == bindparam(prefix + key) for key in keys]

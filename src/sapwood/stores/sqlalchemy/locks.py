"""How each kind of database begins a transaction, and how its writers wait for each other.

Locks are taken in one order: owner, tree, session. An append, or a change of a record, holds its
owner's shared lock from before it gets its numbers in the change feed until it is committed.
Whoever reads the feed, or edits or deletes, takes that lock alone for a moment: so every number
below the newest that it then sees is committed.
"""

from __future__ import annotations

import enum
import hashlib
from typing import Any

from sqlalchemy import Select, bindparam, cast, extract, func, literal_column, select
from sqlalchemy.engine import Connection
from sqlalchemy.types import BigInteger, Text

from ...errors import StoreError
from .tables import Tables

LEVEL = "sapwood_isolation"


class Mode(enum.Enum):
    """What a transaction is for."""

    GLANCE = "glance"
    """One statement, which is its own snapshot and maybe its own transaction."""
    READ = "read"
    """Statements that have to see one snapshot."""
    WRITE = "write"


def begin(conn: Connection, kind: str, mode: Mode) -> None:
    """Begin a transaction: at READ COMMITTED to write, on one snapshot to read."""
    if mode is Mode.GLANCE:
        return
    if kind == "sqlite":
        _begin_sqlite(conn, mode)
        return
    # Engines that differ in their options may share a connection, at another level for each.
    known_as = LEVEL, conn.get_execution_options().get("isolation_level")
    level = conn.info.get(known_as)
    if level is None:
        level = conn.info[known_as] = _level_of(conn)
    wanted = "READ COMMITTED" if mode is Mode.WRITE else "REPEATABLE READ"
    if level == wanted:
        return
    if kind == "postgresql":
        # Its drivers begin a transaction with it: what an engine's own events ask comes after that.
        conn.execution_options(isolation_level=wanted)
    else:
        conn.exec_driver_sql(f"SET TRANSACTION ISOLATION LEVEL {wanted}")


def _level_of(conn: Connection) -> str:
    if _commits_by_itself(conn):
        raise StoreError("the engine commits each statement by itself: give one that does not")
    # In a transaction of its own: a level cannot be set in one, not even after this question.
    conn.begin()
    level = str(conn.get_isolation_level())
    conn.rollback()
    return level


def _commits_by_itself(conn: Connection) -> bool:
    """Whether each statement is a transaction: the driver knows, the level does not say so."""
    raw: Any = conn.connection
    ask = getattr(raw.driver_connection, "get_autocommit", None)
    return bool(ask() if ask else getattr(raw.dbapi_connection, "autocommit", False))


def _begin_sqlite(conn: Connection, mode: Mode) -> None:
    # An engine's own events may begin one as well, which does not take the lock to write.
    conn.begin()
    raw: Any = conn.connection.driver_connection
    if raw.in_transaction and mode is Mode.WRITE:
        conn.exec_driver_sql("ROLLBACK")
    if not raw.in_transaction:
        conn.exec_driver_sql("BEGIN IMMEDIATE" if mode is Mode.WRITE else "BEGIN")


def now_us(kind: str) -> Select[Any]:
    """Return the server's time."""
    if kind == "postgresql":
        epoch = extract("epoch", func.clock_timestamp())
        return select(cast(epoch * 1_000_000, BigInteger))
    if kind == "mysql":
        # Not by way of the server's own time, which has an hour twice when summer ends.
        now = func.utc_timestamp(literal_column("6"))
        begin_of_time: list[Any] = [literal_column("MICROSECOND"), literal_column("'1970-01-01'")]
        return select(func.timestampdiff(*begin_of_time, now))
    # SQLite's clock is that of the machine, in thousandths: days since noon in Greenwich.
    days = func.julianday("now") - 2440587.5
    return select(cast(func.round(days * 86_400_000), BigInteger) * 1000)


def advisory_number(*words: str) -> int:
    """Return the number of an advisory lock."""
    found = hashlib.sha256("\0".join(words).encode()).digest()[:8]
    return int.from_bytes(found, signed=True)


def shared_owner(t: Tables) -> Any:
    """Return a condition on sessions that takes their owner's shared lock, by `owner_name`.

    It is worked out before any row is looked at, so that the owner is locked before the session.
    """
    if t.kind == "mysql":
        return t.session.c.owner == lock_owner(t, shared=True).scalar_subquery()
    if t.kind == "postgresql":
        lock = func.pg_advisory_xact_lock_shared(bindparam("owner_lock", type_=BigInteger))
        return select(cast(lock, Text)).scalar_subquery() == ""
    return None


def lock_owner(t: Tables, shared: bool) -> Any:
    """Return the statement that takes an owner's lock, by `owner_name` and `owner_lock`."""
    if t.kind == "postgresql":
        lock = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
        return select(lock(bindparam("owner_lock", type_=BigInteger)))
    asked = select(t.owner.c.number).where(t.owner.c.name == bindparam("owner_name"))
    return asked.with_for_update(read=shared)

"""Engines of our own: made from a URL, with the settings that the store is at its best with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sqlalchemy import event, exc
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.pool import PoolResetState, StaticPool

from ...errors import UsageError
from ...rules.codec import MAX_MESSAGE_BYTES
from .column_types import MYSQL
from .drivers import CONNECT_TIMEOUT_S, limit_waiting, patient_settings
from .requirements import not_installed

T = TypeVar("T")

KNOWN = ("mariadb", "mysql", "postgresql", "sqlite")
_IN_TRANSACTION = 1
"""The bit of MariaDB's answers that tells of an open transaction."""
_SQLITE = ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON")


def read_url(url: str, drivers: Mapping[str, str]) -> URL:
    """Read a URL; what is wrong is told without showing a password."""
    scheme, _, rest = url.partition("://")
    name = scheme.lower().removeprefix("sqlalchemy+")
    try:
        read = make_url(f"{name}://{rest}")
    except (exc.ArgumentError, ValueError):
        raise UsageError(
            "the URL cannot be read: use mariadb://user:password@host:port/database, "
            "sqlalchemy+postgresql://... or sqlalchemy+sqlite:///file.db",
            path="url",
        ) from None
    kind = read.get_backend_name()
    check_kind(kind)
    if "+" not in name:
        read = read.set(drivername=f"{kind}+{drivers[kind]}")
    if kind == "sqlite" and _is_in_memory(read):
        raise UsageError("for a store in memory use memory://", path="url")
    return read


def make_engine(create: Callable[..., T], url: URL, options: Mapping[str, Any]) -> T:
    """Make an engine; a driver that is not there, or that cannot be used so, is told."""
    try:
        return create(url, **options)
    except ModuleNotFoundError as error:
        raise not_installed(str(error.name), error.name, url.drivername) from error
    except (exc.SQLAlchemyError, TypeError, ValueError) as error:
        raise UsageError(f"no engine can be made of the URL: {error}", path="url") from error


def check_kind(kind: str) -> None:
    """Refuse a database that the store was never tried on."""
    if kind not in KNOWN:
        raise UsageError(
            f"{kind} is not known: the store speaks to MariaDB, MySQL, PostgreSQL and SQLite",
            path="engine",
        )


def most_bytes(kind: str) -> int:
    """Return how large a message may be: MariaDB takes 16 MiB at once, a byte is sent as two."""
    return 7 * 1024 * 1024 if kind in MYSQL else MAX_MESSAGE_BYTES


def options_for(
    url: URL, patience_s: float, answer_within_s: float | None, most_connections: int
) -> dict[str, Any]:
    """Return an engine's settings: its pool, its isolation, and how long it waits for what."""
    kind, driver, patience = url.get_backend_name(), url.get_driver_name(), max(1, int(patience_s))
    options: dict[str, Any] = {
        "pool_size": most_connections,
        "max_overflow": 0,
        "pool_timeout": patience_s,
        # What was said is nobody's business who reads a log.
        "hide_parameters": True,
    }
    connect: dict[str, Any] = {}
    if kind == "sqlite":
        connect["timeout"] = patience_s
    else:
        options |= {"pool_reset_on_return": None, "isolation_level": "READ COMMITTED"}
    if kind in MYSQL or driver == "psycopg":
        connect["connect_timeout"] = CONNECT_TIMEOUT_S
    if kind in MYSQL:
        connect["charset"] = "utf8mb4"
        connect["init_command"] = f"SET SESSION innodb_lock_wait_timeout = {patience}"
    connect |= patient_settings(url, answer_within_s)
    given = {key: value for key, value in connect.items() if key not in url.query}
    if driver == "psycopg":
        # What the URL says of the same setting comes later, and counts.
        given["options"] = f"-c lock_timeout={patience}s {url.query.get('options', '')}".strip()
    return options | {"connect_args": given}


def prepare(engine: Engine, answer_within_s: float | None) -> None:
    """Set what SQLite has to be told for each connection, and what others need not be."""
    limit_waiting(engine, answer_within_s)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
    else:
        event.listen(engine, "reset", _end_transaction)


def _end_transaction(raw: Any, record: object, state: PoolResetState) -> None:
    """Roll back what was left open, as the pool would, unless nothing was.

    MariaDB's drivers ask the server even when they know that no transaction is open.
    """
    if state.terminate_only or state.transaction_was_reset:
        return
    status = getattr(getattr(raw, "driver_connection", raw), "server_status", None)
    if status is None or status & _IN_TRANSACTION:
        raw.rollback()


def _prepare_sqlite(raw: Any, record: object) -> None:
    cursor = raw.cursor()
    for pragma in _SQLITE:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _is_in_memory(url: URL) -> bool:
    name = url.database or ":memory:"
    return ":memory:" in name or "memory" in url.query.get("mode", "")


def refuse_engine(engine: Engine) -> None:
    """Refuse an engine whose connections would not be those of one caller, or of one database."""
    if engine.dialect.name == "sqlite" and _is_in_memory(engine.url):
        raise UsageError("SQLite has to be in a file: for memory use memory://", path="engine")
    if isinstance(engine.pool, StaticPool):
        raise UsageError(
            "a StaticPool gives one connection to all, who would commit each other's halves: "
            "use another pool",
            path="engine",
        )
    if engine.get_execution_options().get("schema_translate_map"):
        raise UsageError(
            "the engine translates names of schemas, which some statements would pass by: "
            "give the store its schema",
            path="engine",
        )

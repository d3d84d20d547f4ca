"""Every database's errors in our words; no exception of SQLAlchemy or a driver leaves here."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import exc

from ...errors import (
    ClosedError,
    MessageTooLargeError,
    MigrationNeededError,
    ReadOnlyError,
    SapwoodError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from ..refusal import state_of_refusal

Meaning = tuple[type[StoreError], str]

_IN_THE_WAY = "it was in the way of other writers, again and again: try again"
_HELD = "other writers held a lock for too long: try again"
_STOPPED = "the server stopped the statement, which took too long: try again"
_CHANGED = "a table was changed meanwhile: try again"
_FULL = "the server has no connection left: try again, or allow it more"
_REFUSED = "the server refused the user or the password"
_NO_DATABASE = "there is no such database"
_LOST = "the connection was lost, or the server cannot be reached"
_NO_TABLE = "a table or column is missing: call admin.migrate()"
_TAKES_NO_WRITES = "the server takes no writes: connect to one that does"
_RIGHTS = "the user may not do this: grant it the rights on the tables"
_NO_ROOM = "the server has no room left"
_DAMAGED = "the database is damaged"

_MYSQL: dict[int, Meaning] = {
    1020: (StoreBusyError, _IN_THE_WAY),
    1213: (StoreBusyError, _IN_THE_WAY),
    1412: (StoreBusyError, _CHANGED),
    1205: (StoreBusyError, _HELD),
    1317: (StoreBusyError, _STOPPED),
    1969: (StoreBusyError, _STOPPED),
    3024: (StoreBusyError, _STOPPED),
    1040: (StoreBusyError, _FULL),
    1203: (StoreBusyError, _FULL),
    1044: (StoreError, _REFUSED),
    1045: (StoreError, _REFUSED),
    1130: (StoreError, _REFUSED),
    1698: (StoreError, _REFUSED),
    1049: (StoreError, _NO_DATABASE),
    1146: (MigrationNeededError, _NO_TABLE),
    1054: (MigrationNeededError, _NO_TABLE),
    1290: (ReadOnlyError, _TAKES_NO_WRITES),
    1792: (ReadOnlyError, _TAKES_NO_WRITES),
    1142: (ReadOnlyError, _RIGHTS),
    1143: (ReadOnlyError, _RIGHTS),
    1021: (StoreUnavailableError, _NO_ROOM),
    1114: (StoreUnavailableError, _NO_ROOM),
    1034: (StoreCorruptError, _DAMAGED),
    1712: (StoreCorruptError, _DAMAGED),
}
_MYSQL_DRIVERS = ("pymysql", "aiomysql", "asyncmy", "MySQLdb", "mysql", "mariadb")
_PLAIN_DRIVERS = ("psycopg", "pymysql", "aiomysql", "asyncmy")
"""Those whose failure to operate without a code is that of the connection."""
_TOO_LARGE = 1153
_POSTGRES: dict[str, Meaning] = {
    "40001": (StoreBusyError, _IN_THE_WAY),
    "40P01": (StoreBusyError, _IN_THE_WAY),
    "55P03": (StoreBusyError, _HELD),
    "57014": (StoreBusyError, _STOPPED),
    "53300": (StoreBusyError, _FULL),
    "25006": (ReadOnlyError, _TAKES_NO_WRITES),
    "42501": (ReadOnlyError, _RIGHTS),
    "42P01": (MigrationNeededError, _NO_TABLE),
    "42703": (MigrationNeededError, _NO_TABLE),
    "08": (StoreUnavailableError, _LOST),
    "28": (StoreError, _REFUSED),
    "3D": (StoreError, _NO_DATABASE),
    "53": (StoreUnavailableError, _NO_ROOM),
    "57": (StoreUnavailableError, "the server is going down or starting"),
    "58": (StoreUnavailableError, "the server's system failed"),
    "XX": (StoreCorruptError, _DAMAGED),
}
_SQLITE: dict[int, Meaning] = {
    5: (StoreBusyError, _HELD),
    6: (StoreBusyError, _HELD),
    8: (ReadOnlyError, "the file or its folder cannot be written to"),
    10: (StoreUnavailableError, "the file cannot be read or written"),
    11: (StoreCorruptError, _DAMAGED),
    13: (StoreUnavailableError, "there is no room left on the disk"),
    14: (StoreUnavailableError, "the file cannot be opened"),
    26: (StoreCorruptError, "the file is no SQLite database"),
}
_SILENCE = ("timed out", "read timeout", "timeout expired", "did not answer within")
_RETRIED = (1020, 1213, 1412, "40001", "40P01")
_GONE = (2002, 2003, 2006, 2013, 2014, 2055, 1053, 1927)


def is_worth_a_try(error: BaseException) -> bool:
    """Whether the same work may succeed at once: it met another writer."""
    # A row that was refused because another has its key may be found now.
    return isinstance(error, exc.IntegrityError) or _code(error) in _RETRIED


def is_silence(error: BaseException) -> bool:
    """Whether the server did not answer in time: another try would take as long."""
    told = _words(error)
    return any(silence in told for silence in _SILENCE)


def is_unknown_setting(error: TypeError) -> bool:
    """Whether a driver was given a setting that it does not know, as a URL may."""
    return "unexpected keyword argument" in str(error)


def is_lost(error: BaseException) -> bool:
    """Whether the connection is gone, or was never there."""
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    code = _code(error)
    if code is None:
        is_plain = isinstance(error, exc.OperationalError | exc.InterfaceError)
        is_telling = is_plain and _module(error) in _PLAIN_DRIVERS
        return isinstance(_cause(error), OSError | EOFError) or is_telling
    if isinstance(code, str):
        return code[:2] == "08" or code in ("57P01", "57P02", "57P03")
    return code in _GONE and _module(error) != "sqlite3"


def translate(error: BaseException, where: str) -> SapwoodError:
    """Return the error to raise, with the driver's as its cause."""
    if isinstance(error, exc.TimeoutError):
        return StoreBusyError(f"{where}: no connection of the pool became free in time: try again")
    # Some drivers only see it close.
    if _code(error) == _TOO_LARGE or "max_allowed_packet" in _words(error):
        return MessageTooLargeError(
            f"{where}: this is more than the server takes at once (max_allowed_packet): store "
            "large content elsewhere and append a reference to it, or let the server take more",
            path="message",
        )
    if isinstance(error, exc.ResourceClosedError | exc.InvalidRequestError):
        return ClosedError(f"{where}: the engine cannot be used any more")
    kind, advice = _meaning(error)
    return kind(f"{where}: {advice} ({_told(error)})")


def _meaning(error: BaseException) -> Meaning:
    code, found = _code(error), None
    if isinstance(code, str):
        found = _POSTGRES.get(code) or _POSTGRES.get(code[:2])
    elif code is not None:
        found = _SQLITE.get(code & 255) if _module(error) == "sqlite3" else _MYSQL.get(code)
    if found is None and is_lost(error):
        found = (StoreUnavailableError, _LOST)
    if found is None and "no such table" in str(_cause(error)):
        found = (MigrationNeededError, _NO_TABLE)
    return found or (StoreError, "the database failed")


def _words(error: BaseException) -> str:
    """Return what the driver says; nothing where that quotes a key, which may be any text."""
    return "" if isinstance(error, exc.IntegrityError) else str(_cause(error))


def _cause(error: BaseException) -> BaseException:
    found = error.orig if isinstance(error, exc.DBAPIError) else None
    return found if isinstance(found, BaseException) else error


def _module(error: BaseException) -> str:
    return type(_cause(error)).__module__.partition(".")[0]


def _code(error: BaseException) -> int | str | None:
    """Return a driver's code: a number of MySQL's or SQLite's, or an SQLSTATE."""
    cause: Any = _cause(error)
    if _module(error) in _MYSQL_DRIVERS:
        first = cause.args[0] if cause.args else None
        return first if isinstance(first, int) else None
    for name in ("sqlstate", "pgcode", "sqlite_errorcode"):
        code = getattr(cause, name, None)
        if isinstance(code, int | str) and code != "":
            return code
    return state_of_refusal(str(cause)) if _module(error) == "psycopg" else None


def _told(error: BaseException) -> str:
    """Return what the driver says, in one line, without what was written or a password."""
    cause = _cause(error)
    if isinstance(error, exc.IntegrityError):
        return type(cause).__name__
    text = str(cause).strip().partition("\n")[0]
    return f"{type(cause).__name__}: {re.sub(r'://[^@ ]*@', '://', text)[:300]}"

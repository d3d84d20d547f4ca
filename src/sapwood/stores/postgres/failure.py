"""PostgreSQL's errors in our words; no exception of the driver leaves this package."""

from __future__ import annotations

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout

from ...errors import (
    ClosedError,
    MigrationNeededError,
    ReadOnlyError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from ..refusal import state_of_refusal
from .patience import NoAnswerError

_BY_STATE: dict[str, tuple[type[StoreError], str]] = {
    "40001": (StoreBusyError, "it was in the way of other writers, again and again: try again"),
    "40P01": (StoreBusyError, "it was in the way of other writers, again and again: try again"),
    "55P03": (StoreBusyError, "other writers held a lock for too long: try again"),
    "57014": (StoreBusyError, "the server stopped the statement, which took too long: try again"),
    "25P03": (StoreBusyError, "the server ended a transaction that paused too long: try again"),
    "25P04": (StoreBusyError, "the server ended a transaction that took too long: try again"),
    "53300": (StoreBusyError, "the server has no connection left: try again, or allow it more"),
    "25006": (ReadOnlyError, "the server takes no writes: connect to the primary"),
    "42501": (ReadOnlyError, "the user may not do this: grant it the rights on the schema"),
    "42P01": (MigrationNeededError, "a table is missing: call admin.migrate()"),
    "3F000": (MigrationNeededError, "the schema is missing: call admin.migrate()"),
    "42883": (MigrationNeededError, "a function is missing: call admin.migrate()"),
    "SW001": (StoreCorruptError, "what is stored does not hold together"),
}
_BY_CLASS: dict[str, tuple[type[StoreError], str]] = {
    "08": (StoreUnavailableError, "the connection was lost"),
    "28": (StoreError, "the server refused the user or the password"),
    "3D": (StoreError, "there is no such database"),
    "53": (StoreUnavailableError, "the server has no room left"),
    "54": (StoreError, "this is over a limit of the server: store large content elsewhere"),
    "57": (StoreUnavailableError, "the server is going down or starting"),
    "58": (StoreUnavailableError, "the server's system failed"),
    "XX": (StoreCorruptError, "the database is damaged"),
}
# An administrator, a crash, a start, and having been idle for long.
_ENDED = ("57P01", "57P02", "57P03", "57P05")
RETRIED = ("40001", "40P01")
UNPREPARED = ("26000", "42P05")
"""A prepared statement that is not there, or is: behind a pooler, that of somebody else."""


def translate(error: psycopg.Error, where: str) -> StoreError:
    """Return the error to raise, with the driver's as its cause."""
    if isinstance(error, PoolTimeout):
        return StoreBusyError(f"{where}: no connection of the pool became free in time: try again")
    if isinstance(error, NoAnswerError):
        return StoreUnavailableError(f"{where}: {error}: what was asked for may have been done")
    if isinstance(error, PoolClosed):
        return ClosedError(f"{where}: the pool is closed")
    state = _state(error) or ""
    kind, advice = _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or _other(error)
    return kind(f"{where}: {advice} ({_told(error)})")


def _other(error: psycopg.Error) -> tuple[type[StoreError], str]:
    if is_lost(error):
        return StoreUnavailableError, "the server cannot be reached"
    return StoreError, "PostgreSQL failed"


def _state(error: psycopg.Error) -> str | None:
    return error.sqlstate or state_of_refusal(str(error))


def _told(error: psycopg.Error) -> str:
    text = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, or was never there."""
    state = _state(error)
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state[:2] == "08" or state in _ENDED

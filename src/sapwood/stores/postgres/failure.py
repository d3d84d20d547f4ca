"""PostgreSQL's errors in our words, so that none of the driver's gets out, and waits that end."""

from __future__ import annotations

import select
from collections.abc import Callable, Generator
from math import inf
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.waiting import READY_R, WAIT_R
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

T = TypeVar("T")

READS_AT_ONCE = 16
"""After about a quarter of a megabyte the others on an event loop have their turn."""

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


class NoAnswerError(psycopg.OperationalError):
    """The server did not answer in time; the connection is of no use any more."""


def waited_for(
    steps: Generator[Any, Any, T], fileno: int, within_s: float | None
) -> Generator[Any, Any, T]:
    """Go through the steps: at once while there is something to read, and not for ever.

    The driver would hand itself to the event loop, and back, for every few kilobytes: of a long
    history that is half of the time that it takes. While nothing comes it looks in from time to
    time, and then says that nothing is ready.
    """
    end = inf if within_s is None else monotonic() + within_s
    is_there = _look(fileno)
    left = READS_AT_ONCE
    try:
        wanted = next(steps)
        while True:
            if wanted == WAIT_R and left and is_there():
                left -= 1
                ready = READY_R
            else:
                left = READS_AT_ONCE
                ready = yield wanted
                if not ready and monotonic() >= end:
                    raise NoAnswerError(f"the server did not answer within {within_s:g} seconds")
            wanted = steps.send(ready)
    except StopIteration as done:
        found: T = done.value
        return found


def _look(fileno: int) -> Callable[[], object]:
    """Return what tells whether there is something to read; always no where none can be had."""
    if not hasattr(select, "poll"):  # on Windows
        return lambda: False
    there = select.poll()
    there.register(fileno, select.POLLIN)
    return lambda: there.poll(0)

"""Redis's errors in our words; no exception of the driver leaves this package."""

from __future__ import annotations

from itertools import chain

from redis import exceptions as driver

from ...errors import (
    ReadOnlyError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from ..base.refusals import pool_exhausted

FAILURES = (driver.RedisError, driver.RedisClusterException, OSError)
"""All that the driver raises: what it says of a cluster is no RedisError."""
_CORRUPT = "SWCORRUPT "
_NONE_FREE = "No connection available"
_Kind = tuple[type[StoreError], str]
# The first that fits is taken: the driver's classes are each other's bases.
_BY_CLASS: tuple[tuple[type[Exception], _Kind], ...] = (
    (driver.AuthenticationError, (StoreError, "the server refused the password")),
    (driver.AuthorizationError, (ReadOnlyError, "the user may not do this: grant it the rights")),
    (driver.NoPermissionError, (ReadOnlyError, "the user may not do this: grant it the rights")),
    (driver.BusyLoadingError, (StoreUnavailableError, "the server is starting")),
    (driver.ReadOnlyError, (ReadOnlyError, "the server is a replica: connect to the primary")),
    (driver.OutOfMemoryError, (StoreUnavailableError, "the server has no memory left")),
    (driver.ClusterDownError, (StoreUnavailableError, "a part of the cluster is down")),
    (driver.MasterDownError, (StoreUnavailableError, "the primary is down")),
    (driver.TryAgainError, (StoreBusyError, "slots are being moved: try again")),
    (driver.ClusterError, (StoreBusyError, "slots are being moved: try again")),
    (driver.TimeoutError, (StoreUnavailableError, "the server did not answer in time")),
    (driver.ConnectionError, (StoreUnavailableError, "the server cannot be reached")),
    (driver.RedisClusterException, (StoreUnavailableError, "the cluster cannot be reached")),
)
_BY_TEXT: tuple[tuple[str, _Kind], ...] = (
    ("WRONGPASS", (StoreError, "the server refused the user or the password")),
    ("username-password pair", (StoreError, "the server refused the user or the password")),
    ("NOAUTH", (StoreError, "the server wants a password")),
    ("NOPERM", (ReadOnlyError, "the user may not do this: grant it the rights")),
    ("can't run this command", (ReadOnlyError, "the user may not do this: grant it the rights")),
    ("MISCONF", (StoreUnavailableError, "the server cannot write to its disk")),
    ("OOM", (StoreUnavailableError, "the server has no memory left")),
    ("WRONGTYPE", (StoreCorruptError, "a key holds what is not ours: see admin.check()")),
    ("BUSY", (StoreBusyError, "a script of somebody's takes too long: try again")),
    ("NOREPLICAS", (StoreUnavailableError, "there are too few replicas")),
    ("CLUSTERDOWN", (StoreUnavailableError, "a part of the cluster is down")),
    # What the driver says whenever a server answers that it will not tell its slots.
    (
        "Cluster mode is not enabled",
        (StoreError, "the server is no node of a cluster, or the user may not run CLUSTER SLOTS"),
    ),
)


def translate(error: Exception) -> StoreError:
    """Return the error to raise, with the driver's as its cause."""
    message = str(error).partition("\n")[0]
    if _CORRUPT in message:
        what = message.partition(_CORRUPT)[2].partition(" script:")[0]
        return StoreCorruptError(f"Redis: {what}: see admin.check()")
    if message.startswith("user_script:"):
        # A script tripped over something that it was sure to find.
        return StoreCorruptError(f"Redis: what is stored does not hold together ({message})")
    if isinstance(error, driver.MaxConnectionsError) or _NONE_FREE in message:
        return pool_exhausted("Redis")
    by_text = (kind for mark, kind in _BY_TEXT if mark in message)
    by_class = (kind for known, kind in _BY_CLASS if isinstance(error, known))
    kind, advice = next(chain(by_text, by_class), (StoreError, "Redis failed"))
    return kind(f"Redis: {advice} ({type(error).__name__}: {message})")


def may_help(error: Exception) -> bool:
    """Whether the same may go well on another connection, at once."""
    if _NONE_FREE in str(error):
        return False
    return isinstance(error, driver.ConnectionError) and not isinstance(
        error,
        driver.AuthenticationError
        | driver.AuthorizationError
        | driver.BusyLoadingError
        | driver.MaxConnectionsError,
    )


def is_moving(error: object) -> bool:
    """Whether a node refused because it gives keys of the slot to another, or takes them."""
    if isinstance(error, driver.ClusterDownError):
        return False
    return isinstance(error, driver.TryAgainError | driver.ClusterError)

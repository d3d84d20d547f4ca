"""MongoDB's errors in our words; no exception of the driver leaves this package."""

from __future__ import annotations

from pymongo.errors import (
    AutoReconnect,
    ConnectionFailure,
    DocumentTooLarge,
    DuplicateKeyError,
    InvalidOperation,
    OperationFailure,
    PyMongoError,
    WaitQueueTimeoutError,
    WriteConcernError,
    WTimeoutError,
)

from ...errors import (
    ClosedError,
    ReadOnlyError,
    SapwoodError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from ..base.refusals import pool_exhausted
from ..recordlog.errors import too_large

_BY_CODE: dict[int, tuple[type[StoreError], str]] = {
    13: (ReadOnlyError, "the user may not do this: grant it readWrite on the database"),
    18: (StoreError, "the server refused the user or the password"),
    24: (StoreBusyError, "others held a lock for too long: try again"),
    50: (StoreBusyError, "the server stopped the command, which took too long: try again"),
    112: (StoreBusyError, "it was in the way of other writers: try again"),
    8000: (StoreError, "the server refused the user or the password"),
    14031: (StoreUnavailableError, "the server has no room left"),
    # A router tells so of servers that it cannot reach, or that took too long.
    **dict.fromkeys(
        (6, 7, 89, 133, 134, 262, 9001, 11601),
        (StoreUnavailableError, "a server cannot be reached"),
    ),
    **dict.fromkeys(
        (91, 189, 10107, 10058, 11600, 11602, 13435, 13436),
        (StoreUnavailableError, "the server is no primary now"),
    ),
}
_TOO_LARGE = (10334, 17419, 17420)


def translate(error: PyMongoError, where: str, most: int) -> SapwoodError:
    """Return the error to raise, with the driver's as its cause."""
    if isinstance(error, DocumentTooLarge):
        return too_large(most + 1, most)
    if isinstance(error, OperationFailure) and not isinstance(error, DuplicateKeyError):
        return _of_server(error, where, most)
    if isinstance(error, WaitQueueTimeoutError):
        return pool_exhausted(where)
    if isinstance(error, AutoReconnect | ConnectionFailure):
        return StoreUnavailableError(f"{where}: the server cannot be reached ({_told(error)})")
    if isinstance(error, InvalidOperation) and "close" in str(error):
        return ClosedError(f"{where}: the client is closed")
    return StoreError(f"{where}: MongoDB failed ({_told(error)})")


def _of_server(error: OperationFailure, where: str, most: int) -> SapwoodError:
    if error.code in _TOO_LARGE:
        return too_large(most + 1, most)
    if isinstance(error, WriteConcernError | WTimeoutError):
        what = "it is not known whether the write was replicated"
        return StoreUnavailableError(f"{where}: {what} ({_told(error)})")
    kind, advice = _BY_CODE.get(error.code or 0, (StoreError, "MongoDB failed"))
    return kind(f"{where}: {advice} ({_told(error)})")


def _told(error: PyMongoError) -> str:
    # What the driver says of a server it cannot reach is a page; its beginning says which.
    return f"{type(error).__name__}: {str(error)[:200]}"

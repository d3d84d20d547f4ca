"""OpenSearch's errors in our words; no exception of the driver leaves this package."""

from __future__ import annotations

import re
from typing import Any

from opensearchpy.exceptions import ConnectionError as LostError
from opensearchpy.exceptions import (
    ConnectionTimeout,
    OpenSearchException,
    SerializationError,
    TransportError,
)

from ...errors import (
    MigrationNeededError,
    ReadOnlyError,
    SapwoodError,
    StoreBusyError,
    StoreError,
    StoreUnavailableError,
)
from ..base.refusals import other_loop

WHERE = "OpenSearch"

_OTHER_LOOP = re.compile("Event loop is closed|different loop|inside a task")
_BY_STATUS: dict[int, tuple[type[StoreError], str]] = {
    401: (StoreError, "the server refused the user or the password"),
    403: (ReadOnlyError, "this may not be done: grant the rights, or free space on its disks"),
    408: (StoreBusyError, "it took too long: try again"),
    413: (StoreError, "the request is larger than http.max_content_length allows"),
    429: (StoreBusyError, "it has too much to do: try again"),
    502: (StoreUnavailableError, "the server cannot be reached"),
    503: (StoreUnavailableError, "a part of it is not there now: try again"),
    504: (StoreUnavailableError, "the server did not answer in time: try again"),
}


def translate(error: OpenSearchException) -> SapwoodError:
    """Return the error to raise, with the driver's as its cause."""
    if isinstance(error, LostError) and _OTHER_LOOP.search(str(error.error)):
        return other_loop(WHERE)
    if isinstance(error, ConnectionTimeout):
        return StoreUnavailableError(f"{WHERE}: it did not answer in time: try again")
    if isinstance(error, SerializationError):
        return unreadable()
    if isinstance(error, LostError):
        return StoreUnavailableError(f"{WHERE}: the server cannot be reached ({error.error})")
    if isinstance(error, TransportError) and isinstance(error.status_code, int):
        return refusal(error.status_code, str(error.error))
    return StoreError(f"{WHERE}: it failed ({type(error).__name__})")


def unreadable() -> StoreError:
    """Return the error for an answer that broke off: what was asked may have been done."""
    return StoreUnavailableError(f"{WHERE}: its answer cannot be read: try again")


def refusal(status: int, kind: str) -> StoreError:
    """Return the error for a status, of a request or of one item of it."""
    if kind == "index_not_found_exception":
        return MigrationNeededError(f"{WHERE}: an index is missing: call admin.migrate()")
    cause, advice = _BY_STATUS.get(status, (StoreError, "it failed"))
    return cause(f"{WHERE}: {advice} ({status} {kind[:200]})")


def is_gone(answer: Any) -> bool:
    """Whether an answer, or an item of one, says that the index is not there."""
    error = answer.get("error") if isinstance(answer, dict) else None
    return isinstance(error, dict) and error.get("type") == "index_not_found_exception"

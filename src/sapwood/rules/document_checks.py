"""Is a call about documents right? Each check raises a `UsageError` that says where not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import MessageTooLargeError, UsageError
from ..model import DocumentChange, DocumentDelete, DocumentPut, Fence
from .check import count, given, instance, listed, name, version
from .ids import check_key
from .wording import a_kind

PINS = "pins"
"""The document of a session that names the messages which stay shown under an overlay."""
MAX_EXPIRY_S = 10**10  # three centuries: the end is a date that Python can say


def document(owner: str, session: str | None, key: str) -> None:
    """Check which document is meant."""
    name(owner, "owner")
    given(name, session, "session")
    check_key(key, "key")


def documents(owner: str, session: str | None, prefix: str) -> None:
    """Check which documents are meant; an empty prefix means all."""
    document(owner, session, "any")
    if prefix != "":
        check_key(prefix, "prefix")


def recent(owner: str, sessions: Sequence[str], key: str | None) -> None:
    """Check whose paths' ends are meant, and which document of theirs."""
    name(owner, "owner")
    listed(sessions, "sessions")
    for index, session in enumerate(sessions):
        name(session, f"sessions[{index}]")
    given(check_key, key, "document")


def document_value(value: bytes, max_bytes: int) -> None:
    """Check a document's value."""
    instance(value, bytes, "value")
    if len(value) > max_bytes:
        raise MessageTooLargeError(f"the value has more than {max_bytes} bytes", path="value")


def document_changes(changes: Sequence[DocumentChange], max_bytes: int) -> None:
    """Check changes of a session's documents, each of which is named once."""
    listed(changes, "documents")
    for index, change in enumerate(changes):
        what = f"documents[{index}]"
        if not isinstance(change, DocumentPut | DocumentDelete):
            raise UsageError(
                f"{what} is {a_kind(change)}: give a DocumentPut or a DocumentDelete",
                path=what,
            )
        check_key(change.key, f"{what}.key")
        version(change.expected_version)
        if isinstance(change, DocumentPut):
            document_value(change.value, max_bytes)
            session_expiry(change.expires_in_s, change.key)
            inheritance(change.inherit, "a session's", change.key)
    keys = [change.key for change in changes]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise UsageError(f"document {twice!r} is given twice in one call", path="documents")


def inheritance(inherit: bool, session: str | None, key: str) -> None:
    """Check whether forks get a copy of a document."""
    instance(inherit, bool, "inherit")
    if session is not None and key == PINS and not inherit:
        # A fork shows, and counts, what its source does.
        raise UsageError(
            f"the document {PINS!r} of a session is inherited by its forks", path="inherit"
        )


def renewal(expected: int, seconds: float, session: str | None, key: str) -> int:
    """Check which version is renewed, and return for how long in microseconds."""
    count(expected, "expected_version", 1)
    in_us = expiry(seconds, session, key)
    if in_us is None:
        raise UsageError(
            "expires_in_s must be a number: to let a document stay, put it again",
            path="expires_in_s",
        )
    return in_us


def expiry(seconds: float | None, session: str | None, key: str) -> int | None:
    """Check a document's time to live, and return it in microseconds."""
    return _expiry(seconds) if session is None else session_expiry(seconds, key)


def session_expiry(seconds: float | None, key: str) -> int | None:
    """Check the time to live of a session's document, and return it in microseconds."""
    if seconds is not None and key == PINS:
        # What is shown is summed up when it changes, and nothing would change when they expire.
        raise UsageError(
            f"the document {PINS!r} of a session cannot expire: delete it when its time has come",
            path="expires_in_s",
        )
    return _expiry(seconds)


def _expiry(seconds: float | None) -> int | None:
    if seconds is None:
        return None
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not 0 < seconds <= MAX_EXPIRY_S:
        raise UsageError(
            f"expires_in_s must be more than 0 and at most {MAX_EXPIRY_S}, not {seconds!r}",
            path="expires_in_s",
        )
    return math.ceil(seconds * 1_000_000)


def fences(value: Fence | Sequence[Fence] | None) -> tuple[Fence, ...]:
    """Check the leases that a write depends on, one or several, and return them."""
    if value is None:
        return ()
    if isinstance(value, Fence):
        _fence(value, "fence")
        return (value,)
    listed(value, "fence")
    for index, it in enumerate(value):
        _fence(it, f"fence[{index}]")
    return tuple(value)


def _fence(value: Fence, what: str) -> None:
    instance(value, Fence, what)
    check_key(value.key, f"{what}.key")
    count(value.version, f"{what}.version", 0)

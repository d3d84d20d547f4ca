"""Documents as a log's state has them: whether they may be changed, and how that is recorded."""

from __future__ import annotations

from ...model import Document
from ..base.extras import DocumentWrite
from ..base.refusals import stale_document
from .fold import version_at
from .state import KeptDocument, LogState
from .work import DropDocument, LogWork, PutDocument


def document_of(key: str, kept: KeptDocument, value: bytes) -> Document:
    """Return a document as users see it."""
    return Document(
        key=key,
        value=value,
        version=kept.version,
        updated_us=kept.updated_us,
        expires_us=kept.expires_us,
        inherit=kept.inherit,
        created_us=kept.updated_us if kept.created_us is None else kept.created_us,
    )


def document_work(state: LogState, new: DocumentWrite, now: int) -> LogWork | None:
    """Return how a change is recorded, or refuse it; None for the deletion of what is not there."""
    refuse_stale(state, new.key, new.expected_version, now)
    if new.value is None:
        return DropDocument(new.key) if new.key in state.documents else None
    expires = None if new.expires_in_us is None else now + new.expires_in_us
    return PutDocument(new.key, now, expires, new.value, new.inherit)


def refuse_stale(state: LogState, key: str, expected: int | None, now: int) -> None:
    """Refuse a change of a document that is not as it was expected to be."""
    kept = state.documents.get(key)
    found = None if kept is None else kept.version
    is_free = kept is None or is_expired(kept, now)
    if expected is not None and found != expected and not (expected == 0 and is_free):
        raise stale_document(key, found, expected)


def is_expired(kept: KeptDocument, now: int) -> bool:
    """Whether a document is not to be found any more."""
    return kept.expires_us is not None and kept.expires_us <= now


def copied(state: LogState, k: int) -> dict[str, KeptDocument]:
    """Return the documents that a fork begins with, with versions of its own.

    Leases, and what is not to be inherited, stay behind.
    """
    version = version_at(LogState(tree="", log="", k=k), 0)
    return {
        key: kept._replace(version=version, n=-kept.version)
        for key, kept in state.documents.items()
        if kept.expires_us is None and kept.inherit
    }

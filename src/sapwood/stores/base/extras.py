"""What a write carries beside its own: what it depends on, and what else it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...model import DocumentChange, DocumentPut, Fence, SessionPatch
from ...rules import check, document_checks


class DocumentWrite(NamedTuple):
    """A change of one of a session's documents, checked; without a value it is deleted."""

    key: str
    value: bytes | None
    expected_version: int | None
    expires_in_us: int | None
    inherit: bool


class Extras(NamedTuple):
    """What a unit of work depends on, and what it writes beside what it is for: all or nothing."""

    fences: tuple[Fence, ...] = ()
    expected_version: int | None = None
    documents: tuple[DocumentWrite, ...] = ()
    patch: SessionPatch | None = None


NO_EXTRAS = Extras()


def checked_extras(
    *,
    fence: Fence | Sequence[Fence] | None = None,
    expected_version: int | None = None,
    documents: Sequence[DocumentChange] = (),
    patch: SessionPatch | None = None,
    max_bytes: int,
) -> Extras:
    """Check what comes along with a write; what is wrong is a `UsageError` that says where."""
    if fence is None and expected_version is None and documents == () and patch is None:
        return NO_EXTRAS
    check.version(expected_version)
    if patch is not None:
        check.patch(patch)
    return Extras(
        fences=document_checks.fences(fence),
        expected_version=expected_version,
        documents=document_writes(documents, max_bytes),
        patch=patch,
    )


def document_writes(changes: Sequence[DocumentChange], max_bytes: int) -> tuple[DocumentWrite, ...]:
    """Check changes of a session's documents."""
    document_checks.document_changes(changes, max_bytes)
    return tuple(_write(it) for it in changes)


def _write(change: DocumentChange) -> DocumentWrite:
    if not isinstance(change, DocumentPut):
        return DocumentWrite(change.key, None, change.expected_version, None, True)
    expires_in_us = document_checks.session_expiry(change.expires_in_s, change.key)
    inherit = change.inherit
    return DocumentWrite(change.key, change.value, change.expected_version, expires_in_us, inherit)

"""Documents as they are stored."""

from __future__ import annotations

from ...model import Document


def is_expired(document: Document, now: int) -> bool:
    """Whether a document is not to be found any more."""
    return document.expires_us is not None and document.expires_us <= now


def encode_document(document: Document) -> bytes:
    """Encode a document."""
    expires = "" if document.expires_us is None else document.expires_us
    head = f"{document.version} {document.updated_us} {expires}\n"
    return head.encode() + document.value


def document_of(key: str, stored: bytes) -> Document:
    """Make a document of what is stored."""
    head, _, value = stored.partition(b"\n")
    version, updated, expires = head.decode().split(" ")
    return Document(
        key=key,
        value=value,
        version=int(version),
        updated_us=int(updated),
        expires_us=int(expires) if expires else None,
    )

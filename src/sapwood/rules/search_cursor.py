"""Cursors of searches: a place in a store's own terms, sealed with the search that it is of."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import Any

import msgspec

from ..errors import NotFoundError, UsageError
from ..model import Search

_SEAL_BYTES = 6


def cursor_at(kind: str, owner: str, search: Search, place: Any) -> str:
    """Return the cursor by which a search goes on at a place; the kind is the store's own."""
    packed = msgspec.json.encode(place)
    return _written(packed + _seal(kind, owner, search, packed))


def place_in(kind: str, owner: str, search: Search, shape: Any) -> Any:
    """Return the place at which a search is to go on; None at its beginning.

    What is no cursor, or one of another search, owner or kind of store, is a `UsageError`.
    """
    if search.cursor is None:
        return None
    packed = _opened(kind, owner, search, search.cursor)
    if packed is None:
        raise UsageError(
            f"{search.cursor!r} is not a cursor of this search: use the one that the last page "
            "gave, with the same query, session and limit",
            path="cursor",
        )
    return msgspec.json.decode(packed, type=shape)


def is_place_of(kind: str, owner: str, search: Search) -> bool:
    """Whether a search goes on at a place of this kind."""
    cursor = search.cursor
    return cursor is not None and _opened(kind, owner, search, cursor) is not None


def place_is_gone(search: Search) -> NotFoundError:
    """Return the error for a cursor of a place that is there no more."""
    return NotFoundError(
        f"the place of the cursor {search.cursor!r} is gone, as after the search index was made "
        "anew: search from the beginning",
        kind="cursor",
        id=str(search.cursor),
    )


def _opened(kind: str, owner: str, search: Search, cursor: str) -> bytes | None:
    try:
        sealed = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except (UnicodeEncodeError, Base64Error):
        return None
    packed, seal = sealed[:-_SEAL_BYTES], sealed[-_SEAL_BYTES:]
    is_ours = seal == _seal(kind, owner, search, packed) and cursor == _written(sealed)
    return packed if is_ours else None


def _written(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def _seal(kind: str, owner: str, search: Search, packed: bytes) -> bytes:
    """Return what a place has only in this search: what others gave is told by it."""
    asked = ascii((kind, owner, search.text, search.session, search.limit))
    return hashlib.sha256(f"{asked}\n".encode() + packed).digest()[:_SEAL_BYTES]

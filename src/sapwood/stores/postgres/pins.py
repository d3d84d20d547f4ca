"""The document that says which messages are pinned."""

from __future__ import annotations

import json

from ...errors import StoreCorruptError


def pinned_ids(data: bytes, session: str) -> list[str]:
    """Read the ids of the pins; a document that is no such list is `StoreCorruptError`."""
    try:
        ids = json.loads(data)
    except ValueError as error:
        raise StoreCorruptError(f"the pins of session {session!r} are not JSON") from error
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise StoreCorruptError(f"the pins of session {session!r} are not a list of ids")
    return [id for id in ids if _can_be_stored(id)]


def _can_be_stored(id: str) -> bool:
    """Tell whether there can be a message of this id; PostgreSQL cannot be asked for others."""
    try:
        return b"\0" not in id.encode()
    except UnicodeEncodeError:
        return False

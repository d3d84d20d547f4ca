"""The document that says which messages are pinned."""

from __future__ import annotations

import json

from ..base.refusals import bad_pins

PINS_KEY = "pins"


def pinned_ids(data: bytes, session: str) -> list[str]:
    """Return the ids of the pins; a document that is no such list is `StoreCorruptError`."""
    try:
        ids = json.loads(data)
    except ValueError as error:
        raise bad_pins(session) from error
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise bad_pins(session)
    return [id for id in ids if _can_be_stored(id)]


def _can_be_stored(id: str) -> bool:
    """Whether there can be a message of this id; databases cannot be asked for others."""
    try:
        return b"\0" not in id.encode()
    except UnicodeEncodeError:
        return False

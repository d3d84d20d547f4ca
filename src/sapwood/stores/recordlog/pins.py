"""The document that says which messages are pinned."""

from __future__ import annotations

from ...errors import StoreCorruptError
from ...rules.codec import decode_json


def pinned_ids(data: bytes, session: str) -> list[str]:
    """Read the ids of the pins; a document that is no such list is `StoreCorruptError`."""
    where = f"the document 'pins' of session {session!r}"
    ids = decode_json(data, where)
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise StoreCorruptError(f"{where} is not a JSON list of message ids: put it again")
    return ids

"""The document that says which messages are pinned."""

from __future__ import annotations

from ...rules.codec import decode_json
from ..base.refusals import bad_pins


def pinned_ids(data: bytes, session: str) -> list[str]:
    """Read the ids of the pins; a document that is no such list is `StoreCorruptError`."""
    ids = decode_json(data, f"the document 'pins' of session {session!r}")
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise bad_pins(session)
    return ids

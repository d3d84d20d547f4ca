"""The documents of a search index, and what is read of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Overlay
from ..searched.entry import IndexEntry, SearchCandidate
from .mapping import words_of
from .query import folded_role


def entry_document(entry: IndexEntry) -> dict[str, Any]:
    """Return the document of a message."""
    return {
        "kind": "message",
        "owner": entry.owner,
        "session": entry.session,
        "id": entry.id,
        "segment": entry.position.segment,
        "depth": entry.position.depth,
        "version": entry.version,
        "role": folded_role(entry.role),
        "created": entry.created_us,
        "key": entry.key,
        "text": words_of(entry.text),
    }


def summaries_document(
    owner: str, session: str, id: str, overlays: Sequence[Overlay], digest: str
) -> dict[str, Any]:
    """Return the document of a session's summaries; it stands where the newest of them does."""
    return {
        "kind": "summaries",
        "owner": owner,
        "session": session,
        "created": max(it.created_us for it in overlays),
        "key": id,
        "overlays": [it.id for it in overlays],
        "digest": digest,
        "text": [words_of(it.summary) for it in overlays],
    }


def candidate_of(hit: Any) -> SearchCandidate:
    """Read a candidate from what was found."""
    found = hit["_source"]
    return SearchCandidate(
        key=hit["_id"],
        kind=found["kind"],
        session=found["session"],
        id=found.get("id", ""),
        segment=found.get("segment", ""),
        depth=found.get("depth", 0),
        version=found.get("version", 0),
        created_us=found["created"],
        order=hit["sort"],
    )

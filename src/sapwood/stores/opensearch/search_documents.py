"""The index that searches ask: its fields, its documents, and how text becomes words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Overlay
from ...rules.text import fold, tokens
from ..searched.entry import IndexEntry, SearchCandidate

VERSION = 1
LONGEST_WORD = 250
"""A longer word is cut, here and in what is asked; the texts themselves decide."""

_KEYWORD = {"type": "keyword"}
_UNSEARCHED = {"type": "keyword", "index": False, "doc_values": False}

MAPPING: dict[str, Any] = {
    "dynamic": "strict",
    "_meta": {"sapwood": VERSION},
    "_routing": {"required": True},
    # The text itself stays in the store: here are only its words.
    "_source": {"excludes": ["text"]},
    "properties": {
        "kind": _KEYWORD,
        "owner": _KEYWORD,
        "session": _KEYWORD,
        "id": _KEYWORD,
        "segment": _KEYWORD,
        "depth": {"type": "integer", "index": False},
        "version": {"type": "long", "index": False},
        "role": _KEYWORD,
        "created": {"type": "long"},
        "key": _KEYWORD,
        "overlays": _KEYWORD,
        "digest": _UNSEARCHED,
        "cursor": _UNSEARCHED,
        "text": {
            "type": "text",
            "analyzer": "sapwood",
            "norms": False,
            "position_increment_gap": 100,
        },
    },
}


def copies(replicas: int | None) -> dict[str, Any]:
    """Return how many copies an index has: one more where there are several nodes, or as given."""
    if replicas is None:
        return {"auto_expand_replicas": "0-1"}
    return {"number_of_replicas": replicas}


def settings(shards: int, replicas: int | None) -> dict[str, Any]:
    """Return the settings of a new search index."""
    # Words come cut and folded by our own rules, with a blank between them.
    words = {"type": "whitespace", "max_token_length": 4 * LONGEST_WORD}
    return {
        "number_of_shards": shards,
        **copies(replicas),
        "analysis": {
            "tokenizer": {"sapwood": words},
            "analyzer": {"sapwood": {"type": "custom", "tokenizer": "sapwood"}},
        },
    }


def words_of(text: str) -> str:
    """Return the words of a text as the index takes them."""
    return " ".join([word[:LONGEST_WORD] for word in tokens(fold(text))])


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
        "role": fold(entry.role),
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

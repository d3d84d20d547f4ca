"""The index that searches ask: its fields, and how text becomes words."""

from __future__ import annotations

from typing import Any

from ...rules.text import fold, tokens

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

"""The index that searches ask: its fields, its documents, its words, and a query in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...model import Overlay
from ...rules.match import Alternative, Branch, Filter, TokenSequence
from ...rules.query import candidates
from ...rules.text import fold, tokens
from ..searched.entry import IndexEntry, SearchCandidate, SearchQuestion

Clause = dict[str, Any]

VERSION = 2
LONGEST_WORD = 250
"""A longer word is cut, here and in what is asked; the texts themselves decide."""
MOST_CLAUSES = 500
"""A server takes 1,024 in all; of a query with more, only the words are asked for."""

_KEYWORD = {"type": "keyword"}
_UNSEARCHED = {"type": "keyword", "index": False, "doc_values": False}
_MESSAGE: Clause = {"term": {"kind": "message"}}
_SUMMARIES: Clause = {"term": {"kind": "summaries"}}

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
        "oldest": {"type": "long"},
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
        "oldest": min(it.created_us for it in overlays),
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


def clauses_of(owner: str, question: SearchQuestion) -> list[Clause]:
    """Return what all that is looked for has in common."""
    asked: list[Clause] = [
        {"term": {"owner": owner}},
        {"terms": {"kind": ["message", "summaries"]}},
        _sides(question),
    ]
    if (moment := question.around_us) is not None:
        newer: Clause = {"range": {"created": {"gte": moment}}}
        asked += [_SUMMARIES, newer, {"range": {"oldest": {"lte": moment}}}]
    if question.scope is not None:
        session, segments = question.scope.session, question.scope.segments
        places: list[Clause] = [{"term": {"session": session}}, {"terms": {"segment": segments}}]
        # The summaries of one session are asked of the store.
        asked += [_MESSAGE, {"bool": {"should": places}}]
    return asked


def _sides(question: SearchQuestion) -> Clause:
    asked = candidates(question.query)
    sides = list(zip(question.query.branches, asked, strict=True))
    count = sum(4 + len(b.filters) * 3 + len(a.all_of) * 2 + len(a.none_of) for b, a in sides)
    if count <= MOST_CLAUSES:
        return {"bool": {"should": [_side(branch, side) for branch, side in sides]}}
    return _any_word(asked)


def _any_word(asked: tuple[Alternative, ...]) -> Clause:
    """Return one word of each side; of many that may go on, none: then all is looked at."""
    words = [max(side.all_of, key=_length) for side in asked]
    whole = [it.tokens[0][:LONGEST_WORD] for it in words if len(it.tokens) > 1 or not it.prefix]
    begun = [it.tokens[0][:LONGEST_WORD] for it in words if len(it.tokens) == 1 and it.prefix]
    if len(begun) > MOST_CLAUSES:
        return {"match_all": {}}
    open_ended = [{"prefix": {"text": word}} for word in begun]
    return {"bool": {"should": [{"terms": {"text": whole}}, *open_ended]}}


def _length(sequence: TokenSequence) -> tuple[bool, int]:
    return not sequence.prefix, len(sequence.tokens[0])


def _side(branch: Branch, side: Alternative) -> Clause:
    must = [clause for sequence in side.all_of for clause in _sequence(sequence)]
    must += [clause for it in branch.filters for clause in _filter(it)]
    without = [
        {"bool": {"filter": [_MESSAGE, *_sequence(it)]}} for it in side.none_of if _is_whole(it)
    ]
    return {"bool": {"filter": must, "must_not": without}}


def _is_whole(sequence: TokenSequence) -> bool:
    """Whether the index decides: not by words that are cut, or may go on."""
    is_cut = any(len(word) > LONGEST_WORD for word in sequence.tokens)
    return not is_cut and (not sequence.prefix or len(sequence.tokens) == 1)


def _sequence(sequence: TokenSequence) -> list[Clause]:
    words = [word[:LONGEST_WORD] for word in sequence.tokens]
    asked: list[Clause] = []
    if sequence.prefix:
        asked.append({"prefix": {"text": words.pop()}})
    if len(words) == 1:
        asked.append({"term": {"text": words[0]}})
    elif words:
        asked.append({"match_phrase": {"text": " ".join(words)}})
    return asked


def _filter(it: Filter) -> list[Clause]:
    """Ask of messages what stands in the index; titles and tags change without it."""
    if isinstance(it.value, int):
        bound = "gte" if it.field == "after" else "lt"
        wanted: Clause = {"range": {"created": {bound: it.value}}}
    elif it.field == "role":
        wanted = {"term": {"role": it.value}}
    else:
        return []
    if it.negated:
        wanted = {"bool": {"must_not": [wanted]}}
    return [{"bool": {"should": [_SUMMARIES, wanted]}}]

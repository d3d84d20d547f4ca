"""What was said and can be found, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from ...model import EntryRef, Hit, Position
from ...rules.match import MessageFacts, matches
from ...rules.query import Query, Term, indexed, terms
from ...rules.relevance import TermCounts, count
from ...rules.snippet import snippet
from ...rules.text import fold

SUMMARY_ROLE = "summary"

S = TypeVar("S")


class Said(NamedTuple, Generic[S]):
    """A message or a summary as it is now; `session` is the row of the one that it is told as."""

    session: S
    session_id: str
    entry: EntryRef
    role: str
    position: Position
    created_us: int
    text: str


def hit_of(said: Said[S], terms: Sequence[Term], score: float, folded: str | None) -> Hit:
    """Return the hit for what was found; `folded` is its folded text, when that is known."""
    shown, marks = snippet(said.text, terms, folded=folded)
    return Hit(
        session=said.session_id,
        entry=said.entry,
        role=said.role,
        position=said.position,
        created_us=said.created_us,
        score=score,
        snippet=shown,
        marks=marks,
    )


def matching_text(
    query: Query, said: Said[S], title: str | None, tags: Sequence[str]
) -> str | None:
    """Return the folded text of what matches, given its session's title and tags; else None."""
    folded = fold(said.text)
    facts = MessageFacts(role=said.role, created_us=said.created_us, title=title, tags=tags)
    return folded if matches(query, folded, facts) else None


def counted_terms(query: Query) -> Sequence[Term]:
    """Return the terms that are counted for a score: one for each that an index tells apart."""
    by_sequence: dict[object, Term] = {}
    for term in terms(query):
        sequence = indexed(term).sequence
        if sequence is not None:
            by_sequence.setdefault(sequence, term)
    return list(by_sequence.values())


def counted(terms: Sequence[Term], folded: str) -> TermCounts:
    """Count terms in a text that is not indexed; a word has about six characters with its blank."""
    return TermCounts(count(terms, folded).counts, len(folded) // 6 + 1)

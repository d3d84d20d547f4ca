"""What tests of queries share: facts, and looks into what a query asks of an index."""

from __future__ import annotations

from functools import lru_cache

from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from sapwood.errors import UsageError
from sapwood.rules.match import TokenSequence
from sapwood.rules.query import (
    Branch,
    MessageFacts,
    Query,
    Term,
    candidates,
    indexed,
    matches,
    occurrences,
    parse,
)
from sapwood.rules.text import fold, is_unspaced, is_word, tokens
from sapwood.testing import QueryCase

from .scripts import anything, mixed

FACTS = MessageFacts(role="user", created_us=1_000_000, title="My Café chat", tags=("Bug", "p1"))


def finds(query: str, text: str, facts: MessageFacts = FACTS) -> bool:
    return matches(parse(query), fold(text), facts)


def one_branch(query: str) -> Branch:
    (branch,) = parse(query).branches
    return branch


def words(query: str) -> list[str]:
    return [" ".join(term.words) + "*" * term.prefix for term in one_branch(query).terms]


@lru_cache(maxsize=1)
def tokens_of(folded: str) -> list[str]:
    return tokens(folded)


def is_indexed(sequence: TokenSequence, folded: str) -> bool:
    """Look for tokens that follow one another, as a full-text index does."""
    made, (wanted, prefix) = tokens_of(folded), sequence
    *head, last = wanted
    for start in range(len(made) - len(wanted) + 1):
        end = start + len(head)
        fits = made[end].startswith(last) if prefix else made[end] == last
        if fits and made[start:end] == head:
            return True
    return False


def is_candidate(query: Query, folded: str) -> bool:
    return any(
        all(is_indexed(sequence, folded) for sequence in alternative.all_of)
        and not any(is_indexed(sequence, folded) for sequence in alternative.none_of)
        for alternative in candidates(query)
    )


def is_exact(query: Query) -> bool:
    """Tell whether every candidate has to be a match: an index decides all that is asked."""
    return all(
        not branch.filters and all(indexed(term).is_exact for term in branch.terms + branch.without)
        for branch in query.branches
    )


def _id(case: QueryCase) -> str:
    return case.query[:20]


def at(query: str, text: str) -> list[tuple[int, int]]:
    (term,) = one_branch(query).terms
    return list(occurrences(term, text))


def sequence_of(query: str) -> tuple[tuple[str, ...], bool, bool]:
    (term,) = one_branch(query).terms
    sequence, exact = indexed(term)
    assert sequence is not None
    return (*sequence, exact)


def naive(term: Term, folded: str) -> bool:
    """Try every place for every word, by the letter of the rule."""

    def from_place(index: int, start: int) -> bool:
        word = term.words[index]
        end = start + len(word)
        last = index == len(term.words) - 1
        before, after = folded[start - 1 : start] if start else "", folded[end : end + 1]
        if not folded.startswith(word, start):
            return False
        if is_word(word[0]) and before and is_word(before):
            return False
        if is_word(word[-1]) and after and is_word(after) and not (term.prefix and last):
            return False
        if last:
            return True
        for place in range(end, len(folded) + 1):
            touch = place == end and is_unspaced(word[-1]) and is_unspaced(term.words[index + 1][0])
            if not touch and from_place(index + 1, place):
                return True
            char = folded[place : place + 1]
            if not char or is_word(char) or is_unspaced(char):
                return False
        return False

    return any(from_place(0, start) for start in range(len(folded)))


folded_words = anything.map(fold).map(str.split).filter(bool).map(lambda words: words[0])
some_terms = st.builds(
    Term, st.lists(folded_words, min_size=1, max_size=3).map(tuple), st.booleans()
)


@st.composite
def terms_and_texts(draw: st.DrawFn) -> tuple[Term, str]:
    """Draw a term and a text that often has it, or nearly so."""
    term = draw(some_terms)
    gaps = st.sampled_from(["", " ", " ", "-", "\n- ", "\uff0c", "x", "部"])
    inner = "".join(word + draw(gaps) for word in term.words)
    return term, fold(draw(mixed) + inner + draw(mixed))


def parsed(text: str) -> Query:
    """Parse, or leave this example out."""
    try:
        return parse(text)
    except UsageError:
        raise UnsatisfiedAssumption from None


some_queries = st.lists(
    st.one_of(
        anything,
        st.sampled_from(
            ["a", "b", "部", "OR", "NOT", "AND", ".a", '"a b"', "a*", "role:user", "-"]
        ),
    ),
    min_size=1,
    max_size=6,
).map(" ".join)

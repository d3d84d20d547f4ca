"""What a query means: the tree of it, whether a text matches, and what an index is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from .fold import fold
from .text import is_unspaced, is_word, solid, tokens

Field = Literal["role", "title", "tag", "after", "before"]

MAX_SEQUENCE = 64
MAX_TOKEN = 8_000  # an index cuts what is longer, in bytes


class Term(msgspec.Struct, frozen=True):
    """A word as it stands, or a phrase of several, folded.

    With `prefix` the last word may go on.
    """

    words: tuple[str, ...]
    prefix: bool = False


class TokenSequence(NamedTuple):
    """Tokens that follow one another; with `prefix` the last one may go on."""

    tokens: tuple[str, ...]
    prefix: bool


class IndexedTerm(NamedTuple):
    """What an index is asked for a term; no sequence when it has nothing but punctuation.

    `is_exact` says that its answer needs no second look.
    """

    sequence: TokenSequence | None
    is_exact: bool


def occurrences(term: Term, folded: str) -> Iterator[tuple[int, int]]:
    """Yield the places (start, end) of a term in folded text, in order and apart.

    A word that begins with a letter or digit begins where no other such stands before it, and
    likewise at its end; but not in scripts that are written without spaces. Between the words
    of a phrase stands anything but letters and digits.
    """
    first, *rest = term.words
    at = folded.find(first)
    while at >= 0:
        end = at + len(first)
        if not _stands_alone(folded, at, end, term.prefix):
            at = folded.find(first, at + 1)
            continue
        last = _follow(rest, folded, end, term.prefix) if rest else end
        if last is not None:
            yield at, last
        # What failed here fails wherever it begins before the next letter: nothing is tried at
        # each of a million dashes.
        at = folded.find(first, solid(folded, at) + 1 if last is None else last)


def stands_at(word: str, text: str, start: int, open_end: bool = False) -> int:
    """Return the first place from `start` on where a word stands alone in a text, or -1."""
    at = text.find(word, start)
    while at >= 0 and not _stands_alone(text, at, at + len(word), open_end):
        at = text.find(word, at + 1)
    return at


def _stands_alone(folded: str, start: int, end: int, open_end: bool) -> bool:
    if start and is_word(folded[start]) and is_word(folded[start - 1]):
        return False
    return open_end or end == len(folded) or not (is_word(folded[end - 1]) and is_word(folded[end]))


def _follow(words: list[str], folded: str, at: int, open_end: bool) -> int | None:
    """Return the end of the words that follow one another from here, or None.

    That a word ends where it should is also said by how the next one begins.
    """
    for word in words:
        start = folded.find(word, at, solid(folded, at) + len(word))
        if start < 0 or (start == at and is_unspaced(word[0]) and is_unspaced(folded[at - 1])):
            return None
        at = start + len(word)
        if not _stands_alone(folded, start, at, open_end):
            return None
    return at


@lru_cache(maxsize=256)
def indexed(term: Term) -> IndexedTerm:
    """Return the tokens that every text with this term has, one after the other."""
    text = " ".join(term.words)
    found = tokens(text)
    if not found:
        return IndexedTerm(None, False)
    prefix = term.prefix and is_word(text[-1])
    if is_unspaced(text[-1]):
        # A text may go on here, so that its last pair is not the term's. Alone, a character
        # begins a pair or is the last of its run.
        prefix = len(text) == 1 or not is_unspaced(text[-2])
        if not prefix:
            found.pop()
    is_exact = all(map(_is_one_run, term.words)) and len(found) <= MAX_SEQUENCE
    if len(found) > MAX_SEQUENCE:
        del found[MAX_SEQUENCE:]
        prefix = False
    return IndexedTerm(TokenSequence(tuple(found), prefix), is_exact)


def _is_one_run(word: str) -> bool:
    """Whether the tokens of a word say all of it."""
    kind = is_word if is_word(word[0]) else is_unspaced
    return len(word) <= MAX_TOKEN and all(map(kind, word))


class Filter(msgspec.Struct, frozen=True):
    """What a message or its session has to be, or with `negated` must not be.

    The value is folded text, or microseconds for `after` (from then on) and `before` (until then,
    without it).
    """

    field: Field
    value: str | int
    negated: bool = False


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One side of an OR: all `terms` are in the text, none of `without`, and all filters hold.

    At least one of the terms is in every index.
    """

    terms: tuple[Term, ...]
    without: tuple[Term, ...] = ()
    filters: tuple[Filter, ...] = ()


class Query(msgspec.Struct, frozen=True):
    """What to look for: what any of the branches finds."""

    branches: tuple[Branch, ...]


class MessageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What filters ask of a message: its role and time, and its session's title and tags."""

    role: str
    created_us: int
    title: str | None = None
    tags: Sequence[str] = ()


class Alternative(NamedTuple):
    """What an index is asked for a branch: all of these sequences, and none of those."""

    all_of: tuple[TokenSequence, ...]
    none_of: tuple[TokenSequence, ...]


def matches(query: Query, folded: str, facts: MessageFacts) -> bool:
    """Whether a query finds a message; the text is folded."""
    return any(
        all(_holds(filter, facts) != filter.negated for filter in branch.filters)
        and is_said(branch, folded)
        for branch in query.branches
    )


def is_said(branch: Branch, folded: str) -> bool:
    """Whether a folded text has what a branch asks of it, filters aside."""
    return all(occurs(term, folded) for term in branch.terms) and not any(
        occurs(term, folded) for term in branch.without
    )


def occurs(term: Term, folded: str) -> bool:
    """Whether a term is in a folded text."""
    if len(term.words) == 1:
        return stands_at(term.words[0], folded, 0, term.prefix) >= 0
    return next(occurrences(term, folded), None) is not None


def _holds(filter: Filter, facts: MessageFacts) -> bool:
    value = filter.value
    if isinstance(value, int):
        return facts.created_us >= value if filter.field == "after" else facts.created_us < value
    match filter.field:
        case "role":
            return fold(facts.role) == value
        case "title":
            return facts.title is not None and value in fold(facts.title)
        case _:
            return any(fold(tag) == value for tag in facts.tags)


def terms(query: Query) -> tuple[Term, ...]:
    """Return the terms that are looked for, each once: for scores and snippets."""
    return tuple(dict.fromkeys(term for branch in query.branches for term in branch.terms))


def candidates(query: Query) -> tuple[Alternative, ...]:
    """Return what to ask an index for: any of these. It finds all that match, and maybe more.

    Filters, and what an index cannot decide, are left to `matches`.
    """
    return tuple(_alternative(branch) for branch in query.branches)


def _alternative(branch: Branch) -> Alternative:
    wanted = [indexed(term).sequence for term in branch.terms]
    unwanted = [indexed(term) for term in branch.without]
    return Alternative(
        tuple(sequence for sequence in wanted if sequence is not None),
        tuple(each.sequence for each in unwanted if each.is_exact and each.sequence is not None),
    )

"""What a query means: the tree of it, whether a text matches, and what an index is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from .fold import fold
from .term import Term, TokenSequence, indexed, occurrences, stands_at

Field = Literal["role", "title", "tag", "after", "before"]


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

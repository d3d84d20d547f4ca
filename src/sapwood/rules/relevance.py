"""How well a text answers a query, among the texts that were found: BM25.

How rare a term is, and how long texts are, is taken from those texts alone: nothing that another
owner stored can move a score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .match import Query, Term, occurrences

_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75
_LEAST = 1e-6  # what was found scores, also when all that it has is punctuation


def is_ranked(query: Query) -> bool:
    """Whether what a query finds differs in how much it has of it.

    Without an OR everything has all that was asked for, and the newest comes first.
    """
    return len(query.branches) > 1


class TermCounts(NamedTuple):
    """How often each term is in a text, and how long that is, in any one unit."""

    counts: Sequence[int]
    length: int


def count(terms: Sequence[Term], folded: str) -> TermCounts:
    """Count the terms in a folded text."""
    return TermCounts([sum(1 for _ in occurrences(term, folded)) for term in terms], len(folded))


def scores(found: Sequence[TermCounts]) -> list[float]:
    """Score each text of those that were found, all with counts of the same terms.

    A higher score is better, and every one is more than 0. More of a term is better, but ever less
    so; rare terms and short texts weigh more.
    """
    if not found:
        return []
    mean = sum([each.length for each in found]) / len(found) or 1.0
    columns = list(zip(*[each.counts for each in found], strict=True))
    dampings = [
        # How much the length of a text, as a share of the mean, dampens what it says.
        _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * (each.length / mean))
        for each in found
    ]
    total = [_LEAST] * len(found)
    for counts in columns:
        weight = _rarity(counts, len(found)) * (_SATURATION + 1)
        total = [
            score + weight * count / (count + damping)
            for score, count, damping in zip(total, counts, dampings, strict=True)
        ]
    return total


def _rarity(counts: tuple[int, ...], total: int) -> float:
    having = len(counts) - counts.count(0)
    return math.log1p((total - having + 0.5) / (having + 0.5))

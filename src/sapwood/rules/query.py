"""The language of a search: words, "phrases", AND, OR, NOT, prefix* and filters.

NOT binds tighter than AND, which may be left out, and that tighter than OR. All else is text:
a query can be wrong only in that there is nothing to look for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from ..errors import UsageError
from ..model import microseconds_of
from .fold import fold
from .match import (
    Alternative,
    Branch,
    Field,
    Filter,
    IndexedTerm,
    MessageFacts,
    Query,
    Term,
    candidates,
    indexed,
    matches,
    occurrences,
    terms,
)
from .text import solid
from .wording import a_kind

__all__ = [
    "MAX_QUERY",
    "MAX_WORDS",
    "Alternative",
    "Branch",
    "Filter",
    "IndexedTerm",
    "MessageFacts",
    "Query",
    "Term",
    "candidates",
    "indexed",
    "matches",
    "occurrences",
    "parse",
    "terms",
]

MAX_QUERY = 20_000
MAX_WORDS = 2_000

Operand = Term | Filter
Item = Operand | str  # a string is an operator

_OPERATORS = frozenset({"AND", "OR", "NOT"})
_FIELDS: dict[str, Field] = {field: field for field in get_args(Field)}
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\uff02", '"'))
_QUOTED = re.compile(r'(?:([a-z]+):)?"([^"]*)"(\*?)(?!\S)')
_WORD = re.compile(r"\S+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[t ].+)?", re.ASCII)


def parse(text: str) -> Query:
    """Read a query; a UsageError says what is wrong with one that has nothing to look for."""
    _refuse(text)
    items = list(_items(text.translate(_QUOTES)))
    if sum(len(item.words) if isinstance(item, Term) else 1 for item in items) > MAX_WORDS:
        raise _error(f"the query has more than {MAX_WORDS} words: look for fewer")
    if items and all(item == "NOT" for item in items):
        raise _error('NOT alone says nothing: add words, or look for the word as "not"')
    items = _settle_binary(_settle_not(items))
    return Query(tuple(map(_branch, _split(items))))


def _error(message: str) -> UsageError:
    return UsageError(message, path="query")


def _refuse(text: Any) -> None:
    if not isinstance(text, str):
        raise _error(f"the query must be a string, not {a_kind(text)}")
    if not text or text.isspace():
        raise _error("the query is empty: give at least one word to look for")
    if len(text) > MAX_QUERY:
        raise _error(f"the query has {len(text)} characters: at most {MAX_QUERY}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _error(
            f"the query has a lone surrogate at character {error.start}: it is not valid Unicode"
        ) from None


def _items(text: str) -> Iterator[Item]:
    """Read words, phrases, filters and what may be an operator; leave out what folds to nothing."""
    at = 0
    while found := _WORD.search(text, at):
        quoted = _QUOTED.match(text, found.start())
        item: Item | None = _quoted(quoted) if quoted else None
        if quoted and item:
            found = quoted
        elif found[0] in _OPERATORS:
            item = found[0]
        else:
            item = _filter(*found[0].partition(":")[::2]) or _word(found[0])
        if item:
            yield item
        at = found.end()


def _quoted(found: re.Match[str]) -> Operand | None:
    """Read what stands in quotes; None when there is nothing in them, or they are text."""
    field, inside, star = found.groups()
    if field is None:
        return _term(inside.split(), star == "*")
    return None if star else _filter(field, inside)


def _word(text: str) -> Term | None:
    prefix = len(text) > 1 and text.endswith("*")
    return _term([text[:-1] if prefix else text], prefix)


def _term(words: Sequence[str], prefix: bool = False) -> Term | None:
    # Some accents that stand alone fold to a blank.
    folded = tuple(word for word in (fold(word).strip() for word in words) if word)
    return Term(folded, prefix) if folded else None


def _filter(name: str, text: str) -> Filter | None:
    """Read a filter; None when it is text: another name, no value, or a lone quote."""
    field = _FIELDS.get(name)
    value = fold(text)
    if field is None or not value.strip() or value[0] == '"':
        return None
    if field not in ("after", "before"):
        return Filter(field, value)
    return Filter(field, _microseconds(name, value)) if "0" <= value[0] <= "9" else None


def _microseconds(name: str, value: str) -> int:
    try:
        if not _DATE.fullmatch(value):
            raise ValueError(value)
        moment = datetime.fromisoformat(value.upper())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return microseconds_of(moment)
    except ValueError:
        raise _error(
            f"{name}:{value[:40]} is no date: write {name}:2024-05-31 or "
            f"{name}:2024-05-31T14:30:00+02:00, or quote it to look for it as text"
        ) from None


def _settle_not(items: Sequence[Item]) -> list[Item]:
    """Make a word of each NOT that nothing follows which it could negate."""
    settled: list[Item] = []
    for item in reversed(items):
        follows = bool(settled) and settled[-1] not in ("AND", "OR")
        settled.append(item if item != "NOT" or follows else Term(("not",)))
    return settled[::-1]


def _settle_binary(items: Sequence[Item]) -> list[Item]:
    """Make a word of each AND and OR that does not stand between two operands."""
    settled: list[Item] = []
    for item, following in zip(items, [*items, "AND"][1:], strict=True):
        if isinstance(item, str) and item != "NOT":
            between = bool(settled) and not isinstance(settled[-1], str)
            if not between or following in ("AND", "OR"):
                item = Term((item.lower(),))
        settled.append(item)
    return settled


def _split(items: Sequence[Item]) -> list[list[Item]]:
    sides: list[list[Item]] = [[]]
    for item in items:
        if item == "OR":
            sides.append([])
        else:
            sides[-1].append(item)
    return sides


def _branch(items: Sequence[Item]) -> Branch:
    wanted: dict[Term, None] = {}
    unwanted: dict[Term, None] = {}
    filters: dict[Filter, None] = {}
    negated = False
    for item in items:
        if isinstance(item, str):
            negated ^= item == "NOT"
            continue
        if isinstance(item, Filter):
            filters[Filter(item.field, item.value, negated)] = None
        else:
            (unwanted if negated else wanted)[item] = None
        negated = False
    branch = Branch(terms=tuple(wanted), without=tuple(unwanted), filters=tuple(filters))
    _refuse_branch(branch)
    return branch


def _refuse_branch(branch: Branch) -> None:
    if any(solid(word) < len(word) for term in branch.terms for word in term.words):
        return
    where = "the query, or one side of an OR in it,"
    if branch.terms or not (branch.without or branch.filters):
        raise _error(f"{where} has no letter or digit to look for: add a word")
    if branch.without:
        raise _error(f"{where} only says what not to find: add a word that has to be there")
    raise _error(f"{where} has only filters: add a word to look for")

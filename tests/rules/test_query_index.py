"""Where a query's words stand in a text, and what an index is asked for it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given

from sapwood.errors import UsageError
from sapwood.rules.match import MAX_SEQUENCE, TokenSequence
from sapwood.rules.query import (
    Term,
    candidates,
    indexed,
    matches,
    occurrences,
    parse,
)
from sapwood.rules.text import fold

from .querying import (
    FACTS,
    at,
    is_candidate,
    is_exact,
    is_indexed,
    naive,
    parsed,
    sequence_of,
    some_queries,
    terms_and_texts,
)
from .scripts import anything, mixed


def test_occurrences_are_in_order_and_apart() -> None:
    assert at("foo", "foo foot foo.foo") == [(0, 3), (9, 12), (13, 16)]
    assert at("部", "部部x部") == [(0, 1), (1, 2), (3, 4)]
    assert at('"a a"', "a a a-a") == [(0, 3), (4, 7)]
    assert at('"部 署"', "部署 部 署线 部\uff0c署") == [(3, 6), (8, 11)]
    assert at("--x", "---x") == [(1, 4)]
    assert at("a-a", "xa-a-a") == [(3, 6)]
    assert at('"fo ba"*', "fox ba fo xba fo bar") == [(14, 19)]
    assert at('"a - b"', "a b a --- b") == [(4, 11)]
    assert at("fo*", "foo fo xfo") == [(0, 2), (4, 6)]


def test_a_long_run_of_separators_is_looked_through_once() -> None:
    text = "-" * 300_000
    assert at('"- x"', text) == []
    assert at('"x - - y"', f"x{text}") == []
    assert at('"- x"', text + "x") == [(0, 300_001)]


@pytest.mark.parametrize(
    ("query", "made", "prefix", "exact"),
    [
        ("deploy", "deploy", False, True),
        ("dep*", "dep", True, True),
        ("署", "署", True, True),
        ("署*", "署", True, True),
        ("部署", "部署", False, True),
        ("部署线", "部署 署线", False, True),
        ("deploy部", "deploy 部", True, False),
        ("deploy部署", "deploy 部署", False, False),
        ("部署deploy", "部署 署 deploy", False, False),
        ('"部署 now"', "部署 署 now", False, True),
        ('"部署 now"*', "部署 署 now", True, True),
        ('"now 部署"', "now 部署", False, True),
        ('"部 署"', "部 署", True, True),
        ("部署.", "部署 署", False, False),
        (".env", "env", False, False),
        (".env*", "env", True, False),
        ("foo-*", "foo", False, False),
        ("it's", "it s", False, False),
    ],
)
def test_an_index_is_asked_for_the_tokens_of_a_term(
    query: str, made: str, prefix: bool, exact: bool
) -> None:
    assert sequence_of(query) == (tuple(made.split()), prefix, exact)


def test_an_index_is_not_asked_for_punctuation_nor_for_more_than_it_takes() -> None:
    assert indexed(Term(("&&",))) == (None, False)
    made, prefix, exact = sequence_of("x-" * 100 + "y*")
    assert (made, prefix, exact) == (("x",) * MAX_SEQUENCE, False, False)
    assert sequence_of('"' + "x " * 100 + 'y"') == (("x",) * MAX_SEQUENCE, False, False)
    assert sequence_of("x" * 10_000)[2] is False


def test_only_what_an_index_decides_is_asked_of_it() -> None:
    (alternative,) = candidates(parse("a && NOT b NOT .env NOT role:user NOT ++"))
    assert alternative.all_of == (TokenSequence(("a",), False),)
    assert alternative.none_of == (TokenSequence(("b",), False),)
    assert is_exact(parse("a NOT b OR c*"))
    for query in ("a NOT .b", "a .b", "a &&", "a role:user", "a OR b-c"):
        assert not is_exact(parse(query))


@given(terms_and_texts())
@example((Term(("-", "a")), "--- -a"))
@example((Term(("--a",)), "---a"))
def test_a_term_is_found_wherever_the_rule_says(drawn: tuple[Term, str]) -> None:
    term, folded = drawn
    assert (next(occurrences(term, folded), None) is not None) == naive(term, folded)


@given(terms_and_texts())
def test_an_index_gives_every_text_with_a_term_and_decides_the_exact_ones(
    drawn: tuple[Term, str],
) -> None:
    term, folded = drawn
    sequence, exact = indexed(term)
    found = naive(term, folded)
    if sequence is not None and found:
        assert is_indexed(sequence, folded)
    if exact:
        assert sequence is not None
        assert is_indexed(sequence, folded) == found


@given(terms_and_texts())
def test_places_of_a_term_hold_its_words(drawn: tuple[Term, str]) -> None:
    term, folded = drawn
    done = 0
    for start, end in occurrences(term, folded):
        assert done <= start < end <= len(folded)
        assert folded[start:end].startswith(term.words[0])
        assert folded[start:end].endswith(term.words[-1])
        done = end


@given(some_queries, mixed)
@example("a OR b NOT c-d", "b c d")
def test_candidates_hold_every_match_and_only_matches_where_exact(query: str, text: str) -> None:
    tree, folded = parsed(query), fold(text)
    found = matches(tree, folded, FACTS)
    assert not found or is_candidate(tree, folded)
    if is_exact(tree):
        assert found == is_candidate(tree, folded)


@given(some_queries)
def test_every_branch_has_something_for_an_index(query: str) -> None:
    tree = parsed(query)
    assert tree.branches
    assert all(alternative.all_of for alternative in candidates(tree))


@given(mixed)
def test_a_quoted_text_finds_itself(text: str) -> None:
    plain = text.replace('"', "")
    query = parsed(f'"{plain}"')
    assert matches(query, fold(f"x {plain} y"), FACTS)


@given(anything)
def test_any_text_is_a_query_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        parse(text)

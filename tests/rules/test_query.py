"""A query says what it says: every character is text, and an index never hides a match."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption

from sapwood.errors import UsageError
from sapwood.model import microseconds_of
from sapwood.rules.query import (
    MAX_QUERY,
    MAX_WORDS,
    Branch,
    Facts,
    Filter,
    Query,
    Term,
    candidates,
    indexed,
    matches,
    occurrences,
    parse,
    terms,
)
from sapwood.rules.term import MAX_SEQUENCE, Sequence
from sapwood.rules.text import fold, is_unspaced, is_word, tokens
from sapwood.testing import QUERIES, REFUSED, QueryCase

from .scripts import anything, mixed

FACTS = Facts(role="user", created_us=1_000_000, title="My Café chat", tags=("Bug", "p1"))


def finds(query: str, text: str, facts: Facts = FACTS) -> bool:
    return matches(parse(query), fold(text), facts)


def one_branch(query: str) -> Branch:
    (branch,) = parse(query).branches
    return branch


def words(query: str) -> list[str]:
    return [" ".join(term.words) + "*" * term.prefix for term in one_branch(query).terms]


@lru_cache(maxsize=1)
def tokens_of(folded: str) -> list[str]:
    return tokens(folded)


def is_indexed(sequence: Sequence, folded: str) -> bool:
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


@pytest.mark.parametrize("case", QUERIES, ids=_id)
def test_a_query_finds_its_texts_and_no_others(case: QueryCase) -> None:
    assert [text for text in case.finds if not finds(case.query, text)] == []
    assert [text for text in case.finds_not if finds(case.query, text)] == []


@pytest.mark.parametrize("case", QUERIES, ids=_id)
def test_an_index_gives_every_text_that_a_query_finds(case: QueryCase) -> None:
    query = parse(case.query)
    assert all(alternative.all_of for alternative in candidates(query))
    assert all(is_candidate(query, fold(text)) for text in case.finds)
    if is_exact(query):
        assert not any(is_candidate(query, fold(text)) for text in case.finds_not)


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:20]))
def test_a_query_with_nothing_to_look_for_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert refused.value.path == "query"
    assert str(refused.value)


@pytest.mark.parametrize("value", [None, 7, b"foo", ["foo"]])
def test_a_query_is_a_string(value: Any) -> None:
    with pytest.raises(UsageError, match="must be a string") as refused:
        parse(value)
    assert refused.value.path == "query"


def test_a_long_query_is_read_and_a_longer_one_refused() -> None:
    parse("x" * MAX_QUERY)
    parse("x " * MAX_WORDS)
    parse('"' + "x " * MAX_WORDS + '"')
    with pytest.raises(UsageError, match="20001 characters"):
        parse("x" * (MAX_QUERY + 1))
    with pytest.raises(UsageError, match="2000 words"):
        parse("x " * (MAX_WORDS + 1))
    with pytest.raises(UsageError, match="2000 words"):
        parse('"' + "x " * (MAX_WORDS + 1) + '"')


@pytest.mark.parametrize(
    "unit",
    ["x", "word ", '"x', '"x ', 'x" ', '" ', 'a:"', "title:x ", "x*", "部署", "-", "é-", "NOT "],
)
def test_ten_thousand_characters_are_read(unit: str) -> None:
    text = ("x " + unit * 10_000)[:10_000]
    if len(text.split()) > MAX_WORDS:
        text = " ".join(text.split()[:MAX_WORDS])
    assert candidates(parse(text))


def test_words_are_joined_by_and_whether_said_or_not() -> None:
    assert parse("a b") == parse("a AND b") == parse("  a\n\tb ")
    assert parse("a b").branches == (Branch(terms=(Term(("a",)), Term(("b",)))),)
    assert parse("a b a") == parse("a b")


def test_not_binds_tighter_than_and_and_that_tighter_than_or() -> None:
    a, b, c, d = (Term((word,)) for word in "abcd")
    assert parse("a b OR c NOT d").branches == (
        Branch(terms=(a, b)),
        Branch(terms=(c,), without=(d,)),
    )
    assert parse("NOT a b") == parse("b AND NOT a") == parse("b NOT a")
    assert parse("a OR b OR c").branches == tuple(Branch(terms=(each,)) for each in (a, b, c))


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("foo AND AND bar", 'foo "and" bar'),
        ("foo OR OR bar", 'foo "or" OR bar'),
        ("foo OR AND bar", 'foo "or" bar'),
        ("OR OR", '"or" "or"'),
        ("OR", '"or"'),
        ("AND", '"and"'),
        ("foo OR", 'foo "or"'),
        ("AND foo", '"and" foo'),
        ("foo NOT", 'foo "not"'),
        ("foo AND NOT", 'foo "not"'),
        ("NOT AND foo", '"not" foo'),
        ("foo NOT OR bar", 'foo "not" OR bar'),
        ("a OR NOT AND b", 'a OR "not" b'),
        ("foo and or not", 'foo "and" "or" "not"'),
    ],
)
def test_an_operator_without_operands_is_a_word(query: str, same: str) -> None:
    assert parse(query) == parse(same)


def test_negating_twice_is_not_negating() -> None:
    assert parse("NOT NOT a") == parse("a")
    assert parse("b NOT NOT NOT a") == parse("b NOT a")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"foo bar" baz', ["foo bar", "baz"]),
        ('"foo" "OR"', ["foo", "or"]),
        ('"foo bar"*', ["foo bar*"]),
        ('"foo bar', ['"foo', "bar"]),
        ('x"foo bar"', ['x"foo', 'bar"']),
        ('"foo bar"x', ['"foo', 'bar"x']),
        ('"foo bar",', ['"foo', 'bar",']),
        ('"foo "bar" baz"', ['"foo', "bar", 'baz"']),
        ('a "" b', ["a", '""', "b"]),
        ('a " " b', ["a", '"', "b"]),
        ('"\u00ad" b', ['""', "b"]),
        ("\u201cFoo Bar\u201d", ["foo bar"]),
        ("dep*", ["dep*"]),
        ("dep**", ["dep**"]),
        ("a *", ["a", "*"]),
        ('"dep*"', ["dep*"]),
        ("de*p", ["de*p"]),
        ('x:"a b"', ['x:"a', 'b"']),
        ("role:", ["role:"]),
        ('a role:"" b', ["a", 'role:""', "b"]),
        ('a title:"x"*', ["a", 'title:"x"*']),
        ('title:"my chat', ['title:"my', "chat"]),
        ("Role:x", ["role:x"]),
        ("after:hours", ["after:hours"]),
        ('before:"the end"', ['before:"the', 'end"']),
        ("http://x.y/z?a=b", ["http://x.y/z?a=b"]),
        ("a \u00ad b", ["a", "b"]),
        ("a ¨ b¨", ["a", "b"]),
    ],
)
def test_quotes_stars_and_colons_that_say_nothing_are_text(query: str, expected: list[str]) -> None:
    assert words(query) == expected


def test_a_star_is_a_prefix_only_at_the_end_of_a_word() -> None:
    assert one_branch("dep*").terms == (Term(("dep",), True),)
    assert one_branch('"dep*"').terms == (Term(("dep*",), False),)
    assert one_branch("dep**").terms == (Term(("dep*",), True),)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("x role:user", True),
        ("x role:USER", True),
        ("x role:use", False),
        ("x NOT role:user", False),
        ("x NOT role:tool", True),
        ("x title:cafe", True),
        ('x title:"my CAFÉ"', True),
        ("x title:tea", False),
        ("x tag:bug", True),
        ("x tag:p1 tag:bug", True),
        ("x tag:p", False),
        ("x NOT tag:p2", True),
        ("x after:1970-01-01", True),
        ("x after:1970-01-01T00:00:01", True),
        ("x after:1970-01-01T00:00:01.000001", False),
        ("x before:1970-01-01T00:00:01", False),
        ("x before:1970-01-01T00:00:01.000001Z", True),
        ("x before:1970-01-01T02:00:01.5+02:00", True),
        ("x after:1970-01-01T00:00:00.5-02:00", False),
        ('x after:"1970-01-01 00:00:01"', True),
        ("y OR x role:tool", False),
        ("x OR y role:tool", True),
        ("y role:user", False),
    ],
)
def test_filters_ask_the_message_and_its_session(query: str, found: bool) -> None:
    assert finds(query, "x") is found


def test_a_session_without_title_and_tags_has_none() -> None:
    bare = Facts(role="user", created_us=0)
    assert not finds("x title:a", "x", bare)
    assert not finds("x tag:a", "x", bare)
    assert finds("x NOT title:a NOT tag:a", "x", bare)


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-14))])))
def test_a_date_is_kept_as_microseconds(moment: datetime) -> None:
    (filter,) = one_branch(f"x after:{moment.isoformat()}").filters
    assert filter == Filter("after", microseconds_of(moment))


@pytest.mark.parametrize(
    "value",
    ["2024", "2024-1-1", "2024-02-30", "20240101", "2024-01-01T25:00", "1st", "2024-01-01,"],
)
def test_what_looks_like_a_date_and_is_none_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="2024-05-31"):
        parse(f"x after:{value}")
    assert words(f'"after:{value}"') == [fold(f"after:{value}")]


def test_the_terms_are_those_that_are_looked_for_each_once() -> None:
    query = parse('a "b c" NOT d OR a e* role:user')
    assert terms(query) == (Term(("a",)), Term(("b", "c")), Term(("e",), True))


def at(query: str, text: str) -> list[tuple[int, int]]:
    (term,) = one_branch(query).terms
    return list(occurrences(term, text))


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


def sequence_of(query: str) -> tuple[tuple[str, ...], bool, bool]:
    (term,) = one_branch(query).terms
    sequence, exact = indexed(term)
    assert sequence is not None
    return (*sequence, exact)


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
    assert alternative.all_of == (Sequence(("a",), False),)
    assert alternative.none_of == (Sequence(("b",), False),)
    assert is_exact(parse("a NOT b OR c*"))
    for query in ("a NOT .b", "a .b", "a &&", "a role:user", "a OR b-c"):
        assert not is_exact(parse(query))


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

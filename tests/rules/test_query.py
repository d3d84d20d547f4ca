"""A query says what it says: every character is text, and an index never hides a match."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import UsageError
from sapwood.model import microseconds_of
from sapwood.rules.query import (
    MAX_QUERY,
    MAX_WORDS,
    Branch,
    Filter,
    MessageFacts,
    Term,
    candidates,
    parse,
    terms,
)
from sapwood.rules.text import fold
from sapwood.testing import QUERIES, REFUSED, QueryCase

from .querying import (
    _id,
    finds,
    is_candidate,
    is_exact,
    one_branch,
    words,
)


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
    bare = MessageFacts(role="user", created_us=0)
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

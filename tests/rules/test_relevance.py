"""The better answer scores higher, by what was found alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.query import parse, terms
from sapwood.rules.relevance import TermCounts, count, scores
from sapwood.rules.text import fold


def ranked(query: str, *texts: str) -> list[str]:
    """Give the texts from the best to the worst; equals stay in their order."""
    wanted = terms(parse(query))
    scored = zip(scores([count(wanted, fold(text)) for text in texts]), texts, strict=True)
    return [text for _, text in sorted(scored, key=lambda pair: -pair[0])]


def test_terms_are_counted_where_they_occur() -> None:
    wanted = terms(parse('foo "a b" ba*'))
    assert count(wanted, "foo a b foot bar bar, foo") == ([2, 1, 2], 25)
    assert count(wanted, "") == ([0, 0, 0], 0)


def test_more_of_a_term_is_better() -> None:
    assert ranked("foo", "foo x x x", "foo foo x x", "x foo foo foo")[0] == "x foo foo foo"


def test_a_short_text_is_better_than_a_long_one() -> None:
    assert ranked("foo", "foo " + "x " * 50, "foo x") == ["foo x", "foo " + "x " * 50]


def test_a_rare_term_weighs_more_than_a_common_one() -> None:
    found = ["common x"] * 9 + ["rare xxx"]
    assert ranked("rare OR common", *found)[0] == "rare xxx"


def test_two_terms_are_better_than_one_twice() -> None:
    assert ranked("a OR b", "a a x x", "a b x x", "b b x x")[0] == "a b x x"


def test_nothing_found_has_no_scores() -> None:
    assert scores([]) == []


def test_what_was_found_scores_also_without_a_count() -> None:
    assert scores([TermCounts([0, 0], 0), TermCounts([1, 0], 5)])[0] > 0
    assert scores([TermCounts([], 0)])[0] > 0


counted = st.integers(1, 4).flatmap(
    lambda terms: st.lists(
        st.builds(
            TermCounts,
            st.lists(st.integers(0, 10**9), min_size=terms, max_size=terms),
            st.integers(0, 10**9),
        ),
        min_size=1,
        max_size=20,
    )
)


@given(counted)
def test_every_score_is_finite_and_more_than_nothing(found: list[TermCounts]) -> None:
    assert len(scores(found)) == len(found)
    assert all(0 < score < 1_000 for score in scores(found))


@given(counted)
def test_the_order_of_what_was_found_does_not_matter(found: list[TermCounts]) -> None:
    there = scores(found)
    back = scores(found[::-1])[::-1]
    assert all(abs(one - other) < 1e-9 for one, other in zip(there, back, strict=True))


@given(counted)
def test_one_more_of_a_term_never_scores_less(found: list[TermCounts]) -> None:
    first, *rest = found
    more = TermCounts([count + 1 if count else 0 for count in first.counts], first.length)
    assert scores([more, *rest])[0] > scores(found)[0] - 1e-9

"""A depth that is missing is found, wherever it is, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import StoreCorruptError
from sapwood.rules.tree import Place, Span, first_missing, gone_over, refuse_missing

SPANS = [Span(7, 1, 4), Span(8, 5, 5), Span(9, 6, 9)]
depths = st.integers(1, 30)


@given(st.sets(st.tuples(depths, st.integers(0, 6))), depths, depths)
def test_the_first_depth_that_no_run_has_is_found(
    drawn: set[tuple[int, int]], first: int, last: int
) -> None:
    runs = sorted((begin, begin + more) for begin, more in drawn)
    missing = [d for d in range(first, last + 1) if not any(a <= d <= b for a, b in runs)]
    assert first_missing(runs, first, last) == (missing[0] if missing else None)


def test_an_empty_range_lacks_nothing() -> None:
    assert first_missing([], 3, 2) is None
    assert first_missing([], 3, 3) == 3


@given(st.integers(1, 9), st.booleans())
def test_a_read_has_gone_over_all_up_to_where_it_stopped(depth: int, backwards: bool) -> None:
    place = next(Place(it.segment, depth) for it in SPANS if it.first <= depth <= it.last)
    spans = SPANS[::-1] if backwards else SPANS
    done = gone_over(spans, place, backwards=backwards)
    found = sorted(d for span in done for d in range(span.first, span.last + 1))
    assert found == list(range(depth, 10) if backwards else range(1, depth + 1))
    assert [it.segment for it in done] == [it.segment for it in spans[: len(done)]]


def test_a_missing_message_is_told_with_its_depth_and_session() -> None:
    refuse_missing([(1, 3), (4, 9)], 2, 8, "s")
    with pytest.raises(StoreCorruptError, match="depth 4 of session 's' is missing"):
        refuse_missing([(1, 3), (5, 9)], 2, 8, "s")

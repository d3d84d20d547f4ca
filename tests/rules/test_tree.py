"""A path through segments is the walk over parent pointers, in a handful of ranges."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.rules.tree import (
    LINEAGE_CAP,
    Place,
    extend_lineage,
    is_on_path,
    place_at,
    place_before,
    spans_up,
)

from .growth import Tree, a_place, places_in, staircase, trees

relaxed = settings(deadline=None, max_examples=max(150, settings().max_examples))
NESTINGS = [1, 2, 63, 64, 65, 66, 127, 128, 129, 130, 193, 300]


def path_by_spans(tree: Tree, leaf: Place | None) -> list[Place]:
    return [place for span in spans_up(leaf, tree.lineage_of) for place in places_in(span)]


@relaxed
@given(trees(), st.data())
def test_a_path_is_the_walk_over_parents(tree: Tree, data: st.DataObject) -> None:
    leaf = data.draw(a_place(tree))
    assert path_by_spans(tree, leaf) == tree.walk_up(leaf)


@pytest.mark.parametrize("run", [1, 3])
@pytest.mark.parametrize("segments", NESTINGS)
def test_a_path_is_the_walk_over_parents_at_any_nesting(segments: int, run: int) -> None:
    tree, leaf = staircase(segments, run)
    assert path_by_spans(tree, leaf) == tree.walk_up(leaf)
    assert len(tree.walk_up(leaf)) == segments * run


@relaxed
@given(trees(), st.data())
def test_a_path_has_one_span_for_each_segment(tree: Tree, data: st.DataObject) -> None:
    spans = list(spans_up(data.draw(a_place(tree)), tree.lineage_of))
    assert len({span.segment for span in spans}) == len(spans)
    assert all(span.first <= span.last for span in spans)


def test_the_path_to_the_root_is_empty() -> None:
    tree, _ = staircase(1)
    assert list(spans_up(None, tree.lineage_of)) == []
    assert not is_on_path(Place(1, 1), None, tree.lineage_of)
    assert place_at(1, None, tree.lineage_of) is None


@relaxed
@given(trees())
def test_a_lineage_is_the_nearest_places_where_the_path_leaves_a_segment(tree: Tree) -> None:
    for segment, lineage in tree.lineage.items():
        walk = tree.walk_up(Place(segment, tree.end[segment]))
        steps = pairwise(walk)
        naive = [above for below, above in steps if below.segment != above.segment]
        assert list(lineage) == naive[:LINEAGE_CAP]


def test_a_first_segment_has_no_lineage() -> None:
    assert extend_lineage(None, []) == []


def test_a_new_segment_does_not_change_its_parents_lineage() -> None:
    above = [Place(1, 4)]
    assert extend_lineage(Place(2, 9), above) == [Place(2, 9), Place(1, 4)]
    assert above == [Place(1, 4)]


@pytest.mark.parametrize("segments", NESTINGS)
def test_lineage_is_capped_so_that_nesting_is_not_quadratic(segments: int) -> None:
    tree, _ = staircase(segments)
    assert max(len(lineage) for lineage in tree.lineage.values()) == min(segments - 1, LINEAGE_CAP)


@pytest.mark.parametrize("segments", NESTINGS)
def test_a_path_reads_one_lineage_for_each_cap_of_segments(segments: int) -> None:
    tree, leaf = staircase(segments, run=2)
    list(spans_up(leaf, tree.lineage_of))
    assert tree.lineages_read == 1 + (segments - 1) // LINEAGE_CAP


def test_the_end_of_a_path_reads_one_lineage_however_deep_it_is() -> None:
    tree, leaf = staircase(300)
    spans = spans_up(leaf, tree.lineage_of)
    for _ in range(LINEAGE_CAP):
        next(spans)
    assert tree.lineages_read == 1


@relaxed
@given(trees())
def test_the_place_before_is_the_parent(tree: Tree) -> None:
    for place, parent in tree.parent.items():
        assert place_before(place, tree.lineage_of) == parent


@relaxed
@given(trees(), st.data())
def test_a_place_is_on_a_path_when_the_walk_meets_it(tree: Tree, data: st.DataObject) -> None:
    leaf = data.draw(a_place(tree))
    path = set(tree.walk_up(leaf))
    for place in tree.parent:
        assert is_on_path(place, leaf, tree.lineage_of) == (place in path), place


@relaxed
@given(trees(), st.data())
def test_the_place_at_a_depth_is_where_the_walk_meets_it(tree: Tree, data: st.DataObject) -> None:
    leaf = data.draw(a_place(tree))
    naive = {place.depth: place for place in tree.walk_up(leaf)}
    for depth in range(leaf.depth + 3):
        assert place_at(depth, leaf, tree.lineage_of) == naive.get(depth)


def test_a_place_not_yet_given_is_on_no_path() -> None:
    tree, leaf = staircase(3, run=2)
    assert not is_on_path(Place(leaf.segment, leaf.depth + 1), leaf, tree.lineage_of)
    assert not is_on_path(Place(leaf.segment, 0), leaf, tree.lineage_of)
    assert not is_on_path(Place(99, leaf.depth), leaf, tree.lineage_of)

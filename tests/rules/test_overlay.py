"""A history is resolved from the leaf upwards: deepest end, then widest, then newest."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.rules.tree import Cover, Place, Span, clip, resolve_up

from .growth import Tree, a_place, places_in, staircase, trees

relaxed = settings(deadline=None, max_examples=max(150, settings().max_examples))


class Overlays:
    """A session's overlays, as a store's index would find them; counts the seeks."""

    def __init__(self, covers: list[Cover]) -> None:
        self.covers = covers
        self.seeks = 0

    def deepest(self, span: Span) -> Cover | None:
        self.seeks += 1
        ends = [c for c in self.covers if c.last in places_in(span)]
        return max(ends, key=lambda c: (c.last.depth, -c.first.depth, c.number), default=None)


def shown(tree: Tree, leaf: Place | None, overlays: Overlays) -> list[Place | Cover]:
    """What resolve_up gives, position by position."""
    flat: list[Place | Cover] = []
    for piece in resolve_up(leaf, tree.lineage_of, overlays.deepest):
        assert isinstance(piece, Cover) or piece.first <= piece.last, "an empty span"
        flat.extend([piece] if isinstance(piece, Cover) else places_in(piece))
        assert len(flat) <= len(tree.parent), "the resolution does not end"
    return flat


def shown_naively(tree: Tree, leaf: Place, covers: list[Cover]) -> list[Place | Cover]:
    """The oracle: go up the list of ancestors; where overlays end, take one and skip its range."""
    ancestors = tree.walk_up(leaf)
    flat: list[Place | Cover] = []
    at = 0
    while at < len(ancestors):
        ending = [cover for cover in covers if cover.last == ancestors[at]]
        if not ending:
            flat.append(ancestors[at])
            at += 1
            continue
        widest = min(cover.first.depth for cover in ending)
        chosen = max(cover for cover in ending if cover.first.depth == widest)
        flat.append(chosen)
        at = ancestors.index(chosen.first) + 1
    return flat


@st.composite
def histories(draw: st.DrawFn) -> tuple[Tree, Place, list[Cover]]:
    """A tree, a leaf and overlays on any of its paths: nested, side by side or crossing."""
    tree = draw(trees(max_stairs=80))
    leaf = draw(a_place(tree))
    ends = st.sampled_from(tree.walk_up(leaf)) | a_place(tree)
    covers = []
    for number in range(draw(st.integers(0, 8))):
        last = draw(ends)
        covers.append(Cover(number, draw(st.sampled_from(tree.walk_up(last))), last))
    return tree, leaf, covers


@relaxed
@given(histories())
def test_a_history_is_resolved_as_over_a_list_of_ancestors(
    history: tuple[Tree, Place, list[Cover]],
) -> None:
    tree, leaf, covers = history
    assert shown(tree, leaf, Overlays(covers)) == shown_naively(tree, leaf, covers)


@relaxed
@given(trees(), st.data())
def test_without_overlays_a_history_is_its_path(tree: Tree, data: st.DataObject) -> None:
    leaf = data.draw(a_place(tree))
    assert shown(tree, leaf, Overlays([])) == tree.walk_up(leaf)


def test_above_the_root_there_is_nothing_to_show() -> None:
    tree, _ = staircase(1)
    overlays = Overlays([])
    assert shown(tree, None, overlays) == []
    assert overlays.seeks == 0


def run_of(*depths: int) -> list[Place]:
    return [Place(1, depth) for depth in depths]


def test_of_overlays_the_deepest_end_wins_then_the_widest_then_the_newest() -> None:
    tree, leaf = staircase(1, run=10)
    older = Cover(1, *run_of(3, 8))
    widest, newest = Cover(2, *run_of(2, 8)), Cover(3, *run_of(2, 8))
    narrow, shallow = Cover(4, *run_of(5, 8)), Cover(5, *run_of(1, 7))
    overlays = Overlays([newest, older, narrow, shallow, widest])
    assert shown(tree, leaf, overlays) == [*run_of(10, 9), newest, *run_of(1)]


def test_crossing_overlays_are_decided_from_the_leaf() -> None:
    tree, leaf = staircase(1, run=10)
    lower, upper = Cover(1, *run_of(4, 8)), Cover(2, *run_of(2, 6))
    overlays = Overlays([lower, upper])
    assert shown(tree, leaf, overlays) == [*run_of(10, 9), lower, *run_of(3, 2, 1)]
    assert shown(tree, Place(1, 7), overlays) == [*run_of(7), upper, *run_of(1)]


def test_an_overlay_on_another_branch_is_not_shown() -> None:
    tree, leaf = staircase(1, run=4)
    other = tree.branch(Place(1, 2))
    assert shown(tree, leaf, Overlays([Cover(1, other, other)])) == tree.walk_up(leaf)


def test_an_overlay_may_cover_a_whole_path() -> None:
    tree, leaf = staircase(130)
    cover = Cover(1, Place(1, 1), leaf)
    assert shown(tree, leaf, Overlays([cover])) == [cover]


def cost_of_reading(covered_segments: int, run: int) -> int:
    """Count the seeks when all but the first three and last three segments are covered."""
    tree, leaf = staircase(covered_segments + 6, run)
    last = Place(covered_segments + 3, tree.end[covered_segments + 3])
    first = Place(4, tree.end[3] + 1)
    overlays = Overlays([Cover(1, first, last)])
    assert len(shown(tree, leaf, overlays)) == 6 * run + 1
    return overlays.seeks + tree.lineages_read


def test_the_cost_of_a_history_does_not_depend_on_what_lies_under_an_overlay() -> None:
    costs = {cost_of_reading(n, run) for n in (1, 2, 60, 65, 140, 400) for run in (1, 5)}
    assert len(costs) == 1, costs
    assert costs.pop() <= 3 + 1 + 3 + 3  # a seek for each span and the cover, three lineages


def test_a_history_is_resolved_no_further_than_it_is_read() -> None:
    tree, leaf = staircase(300)
    overlays = Overlays([])
    next(resolve_up(leaf, tree.lineage_of, overlays.deepest))
    assert (overlays.seeks, tree.lineages_read) == (1, 1)


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 12), st.none() | st.integers(0, 12))
def test_clip_keeps_the_depths_between_two_exclusive_bounds(
    first: int, more: int, after: int, before: int | None
) -> None:
    span = Span(7, first, first + more)
    naive = [
        place
        for place in places_in(span)
        if place.depth > after and (before is None or place.depth < before)
    ]
    kept = clip(span, after, before)
    assert (places_in(kept) if kept else []) == naive
    assert kept is None or naive

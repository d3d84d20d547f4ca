"""Randomly grown trees: parent pointers for the oracle, lineages for the rules."""

from __future__ import annotations

from hypothesis import strategies as st

from sapwood.rules.tree import Place, Span, extend_lineage


class Tree:
    """A tree that knows each position's parent, and counts how often a lineage is read."""

    def __init__(self) -> None:
        self.parent: dict[Place, Place | None] = {}
        self.lineage: dict[int, list[Place]] = {}
        self.end: dict[int, int] = {}
        self.lineages_read = 0

    def branch(self, at: Place | None) -> Place:
        """Begin a segment under a position, or at the root."""
        segment = len(self.lineage) + 1
        self.lineage[segment] = extend_lineage(at, self.lineage[at.segment] if at else [])
        return self._add(Place(segment, at.depth + 1 if at else 1), at)

    def extend(self, segment: int) -> Place:
        """Add a position to the end of a segment."""
        end = Place(segment, self.end[segment])
        return self._add(Place(segment, end.depth + 1), end)

    def _add(self, place: Place, parent: Place | None) -> Place:
        self.parent[place] = parent
        self.end[place.segment] = place.depth
        return place

    def lineage_of(self, segment: int) -> list[Place]:
        self.lineages_read += 1
        return self.lineage[segment]

    def walk_up(self, leaf: Place | None) -> list[Place]:
        """The oracle: the path from a leaf to the root, pointer by pointer."""
        path = []
        while leaf is not None:
            path.append(leaf)
            leaf = self.parent[leaf]
        return path


def staircase(segments: int, run: int = 1) -> tuple[Tree, Place]:
    """Nest segments of `run` positions, each under the last position of the one before."""
    tree = Tree()
    leaf = None
    for _ in range(segments):
        leaf = tree.branch(leaf)
        for _ in range(run - 1):
            leaf = tree.extend(leaf.segment)
    assert leaf is not None
    return tree, leaf


def places_in(span: Span) -> list[Place]:
    """A span's positions, from the last up to the first."""
    return [Place(span.segment, depth) for depth in range(span.last, span.first - 1, -1)]


@st.composite
def trees(draw: st.DrawFn, max_stairs: int = 150, max_steps: int = 40) -> Tree:
    """Grow a tree: often a deep staircase first, then branches and runs anywhere."""
    stairs = draw(st.integers(0, max_stairs) | st.sampled_from([0, 1, 63, 64, 65, 66, 128, 129]))
    tree = staircase(stairs, draw(st.integers(1, 3)))[0] if stairs else Tree()
    steps = st.tuples(st.sampled_from(["extend", "branch", "root"]), st.integers(0, 10**6))
    for what, pick in draw(st.lists(steps, min_size=1, max_size=max_steps)):
        places = list(tree.parent)
        if what == "root" or not places:
            tree.branch(None)
        elif what == "branch":
            tree.branch(places[pick % len(places)])
        else:
            tree.extend(pick % len(tree.lineage) + 1)
    return tree


def a_place(tree: Tree) -> st.SearchStrategy[Place]:
    """Any position of a tree; the deep ones come first when Hypothesis shrinks."""
    return st.sampled_from(sorted(tree.parent, key=lambda place: (-place.depth, place)))

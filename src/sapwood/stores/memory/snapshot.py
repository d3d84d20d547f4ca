"""The whole store as it was at one moment, to go back to."""

from __future__ import annotations

from dataclasses import replace

from ...errors import UsageError
from .state import FeedRow, Segment, SessionRow, State, Tree


class MemorySnapshot:
    """What a memory store held at one moment. It never changes, and says nothing of itself.

    Rows that never change are shared with the store, so that it costs a pointer for each message.
    """

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = _copy(state)

    def state_after(self, state: State) -> State:
        """Give what it held, for a store that has this state now.

        Numbers go on from the larger side, so that none is given twice. Those that were given since
        the snapshot are remembered: who has one has seen what is taken back.
        """
        restored = _copy(self._state)
        restored.clock = state.clock
        _go_on_after(restored, state)
        return restored


def empty_after(state: State) -> State:
    """Give nothing at all, for a store that has this state now."""
    empty = State(state.clock)
    _go_on_after(empty, state)
    return empty


def check_snapshot(value: object) -> MemorySnapshot:
    """See that this is a snapshot."""
    if not isinstance(value, MemorySnapshot):
        raise UsageError(
            f"a memory store is restored from what its snapshot() gave, "
            f"not from a {type(value).__name__}",
            path="snapshot",
        )
    return value


def _go_on_after(state: State, before: State) -> None:
    if before.counter > state.counter:
        state.taken_back = (*state.taken_back, (state.counter, before.counter))
    # A number of its own, so that what is read from now on is no number that was taken back.
    state.counter = max(state.counter, before.counter) + 1


def _copy(state: State) -> State:
    sessions = {
        owner: {id: _copy_session(row) for id, row in rows.items()}
        for owner, rows in state.sessions.items()
    }
    by_home = {row.home: row for rows in sessions.values() for row in rows.values()}
    return State(
        state.clock,
        sessions=sessions,
        homes={home: by_home[home] for home in state.homes},
        trees={number: _copy_tree(tree) for number, tree in state.trees.items()},
        segments={number: _copy_segment(it) for number, it in state.segments.items()},
        places=dict(state.places),
        documents={owner: dict(shelf) for owner, shelf in state.documents.items()},
        feeds={owner: _copy_feed(feed) for owner, feed in state.feeds.items()},
        stale=set(state.stale),
        counter=state.counter,
        taken_back=state.taken_back,
    )


def _copy_session(row: SessionRow) -> SessionRow:
    return replace(
        row,
        segments=list(row.segments),
        overlays=dict(row.overlays),
        ends={segment: list(overlays) for segment, overlays in row.ends.items()},
        documents=dict(row.documents),
        usage=dict(row.usage),
    )


def _copy_tree(tree: Tree) -> Tree:
    return Tree(roots=list(tree.roots), homes=set(tree.homes))


def _copy_segment(segment: Segment) -> Segment:
    return replace(
        segment,
        lineage=list(segment.lineage),
        rows=list(segment.rows),
        path_tokens=list(segment.path_tokens),
        edits=dict(segment.edits),
        children={depth: list(numbers) for depth, numbers in segment.children.items()},
    )


def _copy_feed(feed: FeedRow) -> FeedRow:
    return FeedRow(trimmed=feed.trimmed, changes=list(feed.changes), readers=dict(feed.readers))

"""Read what a session's drawing shows: a page of its path, and the branches that leave it there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model import History, Leaf, Message, Overlay, Position, Read, SessionRecord
from ..session import SessionManager
from .settings import iter_pages
from .tree_drawing import DrawnOverlay, TreeDrawing, covers_of

MOST_BRANCHES = 20
MOST_IN_A_BRANCH = 10


class TreePage(NamedTuple):
    """Which part of a session to show; without a limit, all of it."""

    leaf: str | None
    limit: int | None
    before: int | None


class TreeView(NamedTuple):
    """What is drawn of a session, and how much is not."""

    tree: TreeDrawing
    covers: list[DrawnOverlay]
    forks: dict[Position, list[str]]
    pins: list[str]
    """The ids of the pinned messages, on the page or not."""
    path: list[Message]
    has_more: bool
    """There are messages above the page."""
    other_branches: int
    """Branches that leave the path elsewhere, or were too many."""


def read_view(sessions: SessionManager, record: SessionRecord, page: TreePage) -> TreeView:
    """Read a page; the cost is that of the page, whatever the session's length."""
    reader = _ViewReader(sessions, record.id, page)
    history = reader.read(limit=page.limit, before=page.before, backwards=True)
    path = history.messages_only
    tree = TreeDrawing(path, beyond=reader.next_below(path))
    others = reader.add_branches(tree, history)
    overlays = sessions.store.list_overlays(sessions.owner, record.id)
    below = reader.ends_below(overlays, path)
    covers = covers_of(tree, overlays, path[-1].position if path else None, below)
    forks: dict[Position, list[str]] = {}
    for found in iter_pages(sessions, parent=record.id, order="created", limit=500):
        for fork in found.sessions:
            if fork.forked_at is not None:
                forks.setdefault(fork.forked_at, []).append(fork.id)
    pins = sessions.get(record.id).pins()
    return TreeView(tree, covers, forks, pins, path, history.more, others)


class _ViewReader(NamedTuple):
    """Reads one session for one page."""

    sessions: SessionManager
    session: str
    page: TreePage

    def read(self, **query: Any) -> History:
        """Read of the path to the tip, or to the leaf that was asked for, unless one is named."""
        query = {"leaf": self.page.leaf, "overlays": False, **query}
        return self.sessions.store.read(self.sessions.owner, self.session, Read(**query))

    def next_below(self, path: Sequence[Message]) -> Position | None:
        """Find where the path goes on below the page: that is no branch."""
        if self.page.before is None or not path:
            return None
        found = self.read(after=path[-1].depth, limit=1).messages_only
        return found[0].position if found else None

    def add_branches(self, tree: TreeDrawing, history: History) -> int:
        """Add the branches that leave what is drawn; return the number of those that do not."""
        path, is_whole = history.messages_only, not history.more
        top = path[0].depth if path else 1
        leaves = self.sessions.store.list_leaves(self.sessions.owner, self.session)
        others, left = 0, len(leaves) if self.page.limit is None else MOST_BRANCHES
        for leaf in leaves:
            if leaf.id == history.leaf or leaf.position in tree.messages:
                continue
            is_near = is_whole or leaf.position.depth > top
            is_drawn = is_near and left > 0 and self._add(tree, leaf, path, top, is_whole)
            others += not is_drawn
            left -= is_near
        return others

    def _add(
        self, tree: TreeDrawing, leaf: Leaf, path: Sequence[Message], top: int, is_whole: bool
    ) -> bool:
        is_bounded = self.page.limit is not None
        span = path[-1].depth - top + 1 + MOST_IN_A_BRANCH if path else MOST_IN_A_BRANCH
        history = self.read(leaf=leaf.id, after=top - 1, limit=span + 1 if is_bounded else None)
        most = MOST_IN_A_BRANCH if is_bounded else None
        return tree.add(
            history.messages_only, is_whole=is_whole, most=most, has_more=history.more, leaf=leaf.id
        )

    def ends_below(self, overlays: Sequence[Overlay], path: Sequence[Message]) -> set[Position]:
        """Find the ends of overlays that lie on the path, below what is drawn of it."""
        if self.page.before is None or not path:
            return set()
        top, bottom = path[0].depth, path[-1].depth
        ends = {o.last for o in overlays if o.first.depth <= bottom < o.last.depth >= top}
        return {end for end in ends if self._is_on_path(end)}

    def _is_on_path(self, place: Position) -> bool:
        found = self.read(after=place.depth - 1, before=place.depth + 1, limit=1).messages_only
        return bool(found) and found[0].position == place

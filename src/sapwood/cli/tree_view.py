"""Read what a session's drawing shows: a page of its path, and the branches that leave it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..model import History, Leaf, Message, Overlay, Position, Read, SessionRecord
from ..session import SessionManager
from ..store import Store
from .overlay_margin import DrawnOverlay, covers_of
from .tree_drawing import TreeDrawing

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
    reader = _ViewReader(sessions.store, sessions.owner, record.id, page)
    history = reader.path()
    path, has_more = history.messages_only, history.more
    tree = TreeDrawing(path, beyond=reader.next_below(path))
    others = reader.add_branches(tree, history)
    overlays = sessions.store.list_overlays(sessions.owner, record.id)
    below = reader.ends_below(overlays, path)
    covers = covers_of(tree, overlays, path[-1].position if path else None, below)
    forks = _forks(sessions, record.id)
    pins = sessions.get(record.id).pins()
    return TreeView(tree, covers, forks, pins, path, has_more, others)


class _ViewReader:
    """Reads one session for one page."""

    def __init__(self, store: Store, owner: str, session: str, page: TreePage) -> None:
        self._store = store
        self._owner = owner
        self._session = session
        self._page = page

    def path(self) -> History:
        """Read the page's part of the path to the tip, or to the leaf that was asked for."""
        query = Read(
            leaf=self._page.leaf,
            overlays=False,
            limit=self._page.limit,
            before=self._page.before,
            backwards=True,
        )
        return self._store.read(self._owner, self._session, query)

    def next_below(self, path: Sequence[Message]) -> Position | None:
        """Find where the path goes on below the page: that is no branch."""
        if self._page.before is None or not path:
            return None
        query = Read(leaf=self._page.leaf, overlays=False, after=path[-1].depth, limit=1)
        found = self._store.read(self._owner, self._session, query).messages_only
        return found[0].position if found else None

    def add_branches(self, tree: TreeDrawing, history: History) -> int:
        """Add the branches that leave what is drawn; return the number of those that do not."""
        path, is_whole = history.messages_only, not history.more
        top = path[0].depth if path else 1
        leaves = self._store.list_leaves(self._owner, self._session)
        leaves = [leaf for leaf in leaves if leaf.id != history.leaf]
        others = 0
        for leaf, is_wanted in self._choose(leaves, tree, top, is_whole):
            if not is_wanted or not self._add(tree, leaf, path, top, is_whole):
                others += 1
        return others

    def _choose(
        self, leaves: Sequence[Leaf], tree: TreeDrawing, top: int, is_whole: bool
    ) -> Iterator[tuple[Leaf, bool]]:
        left = MOST_BRANCHES if self._page.limit is not None else len(leaves)
        for leaf in leaves:
            if leaf.position in tree.messages:
                continue
            is_near = is_whole or leaf.position.depth > top
            yield leaf, is_near and left > 0
            left -= is_near

    def _add(
        self, tree: TreeDrawing, leaf: Leaf, path: Sequence[Message], top: int, is_whole: bool
    ) -> bool:
        is_bounded = self._page.limit is not None
        span = path[-1].depth - top + 1 + MOST_IN_A_BRANCH if path else MOST_IN_A_BRANCH
        query = Read(
            leaf=leaf.id, overlays=False, after=top - 1, limit=span + 1 if is_bounded else None
        )
        history = self._store.read(self._owner, self._session, query)
        most = MOST_IN_A_BRANCH if is_bounded else None
        return tree.add(
            history.messages_only, is_whole=is_whole, most=most, has_more=history.more, leaf=leaf.id
        )

    def ends_below(self, overlays: Sequence[Overlay], path: Sequence[Message]) -> set[Position]:
        """Find the ends of overlays that lie on the path, below what is drawn of it."""
        if self._page.before is None or not path:
            return set()
        top, bottom = path[0].depth, path[-1].depth
        ends = {o.last for o in overlays if o.first.depth <= bottom < o.last.depth >= top}
        return {end for end in ends if self._is_on_path(end)}

    def _is_on_path(self, place: Position) -> bool:
        query = Read(
            leaf=self._page.leaf,
            overlays=False,
            after=place.depth - 1,
            before=place.depth + 1,
            limit=1,
        )
        found = self._store.read(self._owner, self._session, query).messages_only
        return bool(found) and found[0].position == place


def _forks(sessions: SessionManager, session: str) -> dict[Position, list[str]]:
    """Find the sessions that were forked off this one, by the position where."""
    found: dict[Position, list[str]] = {}
    cursor = None
    while True:
        page = sessions.list_sessions(parent=session, order="created", limit=500, cursor=cursor)
        for record in page.sessions:
            if record.forked_at is not None:
                found.setdefault(record.forked_at, []).append(record.id)
        cursor = page.cursor
        if cursor is None:
            return found

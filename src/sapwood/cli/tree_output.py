"""Read what a session's drawing shows, and write it: to a terminal, a pipe or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..model import History, Leaf, Message, Overlay, Position, Read, SessionRecord
from ..rules.wording import counted
from ..session import SessionManager
from .output import Output, clean, note, pad, shorten, width_of
from .records import brief, message_json, overlay_json, session_json, write_heading
from .settings import iter_pages
from .short_ids import short
from .tree_drawing import DrawnOverlay, TreeDrawing, TreeLine, covers_of, lines_of, margins_of

MOST_BRANCHES = 20
MOST_IN_A_BRANCH = 10
ROOM_FOR_IDS = 100
LEAST_TEXT = 10
LEAST_ID = 6
TEXT_IN_A_PIPE = 200
MOST_ROLE = 9
TIP = "◀ tip"
PIN = "pinned"
GAP = 2
COLOURS = {"user": "green", "assistant": "cyan", "tool": "yellow", "system": "magenta"}


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
            history.messages_only,
            is_whole=is_whole,
            most=most,
            has_more=history.more,
            leaf=short(leaf.id),
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


def show_tree(
    sessions: SessionManager,
    record: SessionRecord,
    page: TreePage,
    output: Output,
    has_ids: bool | None,
) -> None:
    """Show a page of a session as a tree."""
    view = read_view(sessions, record, page)
    if output.is_json:
        output.json(tree_json(record, view))
        return
    write_heading(output, record)
    if not view.tree.messages:
        note("no messages")
    _TreeWriter(output, record, view, has_ids).write()
    name = clean(short(record.id))
    if view.has_more:
        note(f"there is more above: sapwood show {name} --before {view.path[0].depth}")
    if view.other_branches:
        many = view.other_branches
        note(f"{counted(many, 'branch', 'branches')} elsewhere: sapwood show {name} --all")


def tree_json(record: SessionRecord, view: TreeView) -> dict[str, object]:
    """Return a page of a session's tree."""

    def parent_of(message: Message) -> str | None:
        place = view.tree.parents[message.position]
        return view.tree.messages[place].id if place else None

    return {
        "session": session_json(record),
        "messages": [
            {**message_json(message), "parent": parent_of(message)}
            for message in view.tree.messages.values()
        ],
        "overlays": [overlay_json(cover.overlay) for cover in view.covers],
        "forks": [
            {"session": name, "message": view.tree.messages[place].id}
            for place, names in view.forks.items()
            if place in view.tree.messages
            for name in names
        ],
        "pins": view.pins,
        "more_above": view.has_more,
        "before": view.path[0].depth if view.has_more else None,
        "other_branches": view.other_branches,
    }


class _LineCells(NamedTuple):
    """A line's pieces before they are fitted to the width."""

    lead: str
    role: str
    id: str
    text: str
    marks: str = ""
    forks: str = ""

    @property
    def notes(self) -> str:
        """What stands at the end of the line."""
        return ", ".join(filter(None, (self.marks, self.forks)))


class _TreeWriter:
    """Fits the lines of a tree into the width that there is."""

    def __init__(
        self, output: Output, record: SessionRecord, view: TreeView, has_ids: bool | None
    ) -> None:
        self._output = output
        self._record = record
        self._view = view
        has_room = output.width is None or output.width >= ROOM_FOR_IDS
        self._has_ids = has_room if has_ids is None else has_ids

    def write(self) -> None:
        """Write all lines."""
        lines = lines_of(self._view.tree.rows(), self._view.covers)
        margins = margins_of(lines, self._view.covers)
        cells = [self._cells(line, margin) for line, margin in zip(lines, margins, strict=True)]
        widths = [_widest(row.lead for row in cells), _widest(row.role for row in cells)]
        widths.append(self._width_of_ids(cells, sum(widths)))
        for row in cells:
            self._write(row, widths)

    def _width_of_ids(self, cells: Sequence[_LineCells], used: int) -> int:
        widest = _widest(row.id for row in cells)
        if self._output.width is None:
            return widest
        # Between lead, role, id, text and the marks there are gaps.
        marks = f"{TIP}, {PIN}" if self._view.pins else TIP
        taken = used + LEAST_TEXT + width_of(marks) + 4 * GAP
        return min(widest, max(self._output.width - taken, LEAST_ID))

    def _cells(self, line: TreeLine, margin: str) -> _LineCells:
        lead = f"{margin} " if margin else ""
        if line.overlay is not None:
            return _LineCells(lead, "summary", "", _summary(line.overlay))
        assert line.row is not None
        lead += line.row.graph
        message = line.row.message
        if message is None:
            return _LineCells(lead, "", "", clean(line.row.note))
        id = clean(short(message.id)) if self._has_ids else ""
        role = shorten(clean(message.role), MOST_ROLE)
        return _LineCells(lead, role, id, brief(message), *self._notes(message))

    def _notes(self, message: Message) -> tuple[str, str]:
        is_tip = message.position == self._record.tip_position
        marks = [TIP] if is_tip else []
        if message.id in self._view.pins:
            marks.append(PIN)
        forks = self._view.forks.get(message.position, [])
        return ", ".join(marks), ", ".join(f"fork {clean(short(name))}" for name in forks)

    def _write(self, row: _LineCells, widths: list[int]) -> None:
        pieces = [pad(row.lead, widths[0]), pad(row.role, widths[1])]
        if widths[2]:
            pieces.append(pad(shorten(row.id, widths[2]), widths[2]))
        used = sum(width_of(piece) + 2 for piece in pieces)
        text, notes = self._fitted(row, used)
        style = self._output.style
        pieces[1] = style(pieces[1], fg=COLOURS.get(row.role, "blue"))
        if widths[2]:
            pieces[2] = style(pieces[2], dim=True)
        if row.role == "summary" and not row.id:
            text = style(text, italic=True)
        ends = [text, style(notes, bold=True)] if notes else [text]
        line = "  ".join([*pieces, *ends])
        self._output.line(line)

    def _fitted(self, row: _LineCells, used: int) -> tuple[str, str]:
        """Cut the text, and then the notes, to what is left of the line."""
        if self._output.width is None:
            return shorten(row.text, TEXT_IN_A_PIPE), row.notes
        left = max(self._output.width - used, 0)
        room = left - width_of(row.notes) - GAP if row.notes else left
        # Names of forks may be cut, the marks of the tip and of a pin may not.
        most = left - width_of(row.marks) - GAP if row.marks else left
        text = shorten(row.text, max(room, min(LEAST_TEXT, most), 0))
        rest = max(left - width_of(text) - GAP, 0)
        notes = shorten(row.notes, rest)
        return text, notes if notes.startswith(row.marks) else shorten(row.marks, rest)


def _widest(texts: Iterable[str]) -> int:
    return max((width_of(text) for text in texts), default=0)


def _summary(overlay: Overlay) -> str:
    span = f"{overlay.first.depth}-{overlay.last.depth}"
    saved = f"{overlay.covered_tokens} → {counted(overlay.tokens, 'token')}"
    return f"[{clean(short(overlay.id))}: {span}, {saved}] {clean(overlay.summary)}"

"""What the memory store holds: its tables, as plain dictionaries and lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...model import ChangeKind, Document, Edge, Usage
from ...rules.overlay import Cover
from ...rules.tree import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A message without its place; one without a body was deleted.

    The body is kept encoded, so that nobody who holds a decoded message can change it.
    """

    id: str
    role: str
    body: bytes | None
    digest: bytes | None
    tokens: int
    version: int
    created_us: int


@dataclass(slots=True, kw_only=True)
class Segment:
    """An unbranched run of messages, all of one home.

    It is nobody's, and never appended to again, once its home is not a session's any more.
    """

    number: int
    home: int
    tree: int
    parent: Place | None
    lineage: list[Place]
    rows: list[MessageRow] = field(default_factory=list)
    path_tokens: list[int] = field(default_factory=list)
    """For each row, the tokens from the root down to it."""
    edits: dict[int, int] = field(default_factory=dict)
    """When, by the change's number, the message at a depth was last edited or deleted."""
    children: dict[int, list[int]] = field(default_factory=dict)
    """The segments that follow the position at a depth."""

    @property
    def above(self) -> int:
        """The depth that the segment's first message follows."""
        return self.parent.depth if self.parent else 0

    @property
    def last(self) -> int:
        """The depth of the last message."""
        return self.above + len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayRow:
    """An overlay, shared by all sessions that have it in force. A larger number is newer."""

    number: int
    id: str
    first: Place
    last: Place
    summary: str
    tokens: int
    covered_tokens: int
    metadata: bytes
    created_by: str
    created_us: int

    @property
    def rank(self) -> tuple[int, int, int]:
        """What decides, in one segment, which is shown: deepest, then widest, then newest."""
        return self.last.depth, -self.first.depth, self.number

    @property
    def cover(self) -> Cover:
        """The range, as the rules know it."""
        return Cover(self.number, self.first, self.last)


@dataclass(slots=True, kw_only=True)
class SessionRow:
    """A session. `number` says when it was created; `home` is what its messages carry."""

    owner: str
    id: str
    number: int
    home: int
    tree: int
    tip: Place | None = None
    fork: Place | None = None
    inherited: tuple[int, ...] = ()
    """The homes on the path to the fork point: where else its ids may be."""
    title: str | None
    state: str
    tags: tuple[str, ...]
    data: bytes
    budget: int | None
    parent: Edge | None
    messages: int = 0
    context_tokens: int = 0
    version: int = 1
    created_us: int
    active_us: int
    segments: list[int] = field(default_factory=list)
    overlays: dict[int, OverlayRow] = field(default_factory=dict)
    """Those in force, by number, oldest first."""
    ends: dict[int, list[OverlayRow]] = field(default_factory=dict)
    """The overlays in force by the segment that they end in, each list ordered by rank."""
    documents: dict[str, Document] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Tree:
    """All that grew out of one first conversation."""

    roots: list[int] = field(default_factory=list)
    homes: set[int] = field(default_factory=set)
    """Those of its sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """An entry of the feed. `home` is the home of the message, or who acted when that was gone."""

    number: int
    kind: ChangeKind
    home: int
    session: str
    message: str | None
    depth: int | None
    at_us: int


@dataclass(slots=True, kw_only=True)
class FeedRow:
    """An owner's changes, and how far each registered reader has read them.

    Up to `trimmed` the feed may be incomplete.
    """

    trimmed: int
    changes: list[ChangeRow] = field(default_factory=list)
    readers: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """The whole store. One counter numbers everything, so that no number is ever used twice."""

    clock: Callable[[], int]
    sessions: dict[str, dict[str, SessionRow]] = field(default_factory=dict)
    """By owner and id, in order of creation."""
    homes: dict[int, SessionRow] = field(default_factory=dict)
    """The sessions by their present home; a home that is not here is gone."""
    trees: dict[int, Tree] = field(default_factory=dict)
    segments: dict[int, Segment] = field(default_factory=dict)
    places: dict[tuple[int, str], Place] = field(default_factory=dict)
    """Where a message stands, by its home and id."""
    documents: dict[str, dict[str, Document]] = field(default_factory=dict)
    feeds: dict[str, FeedRow] = field(default_factory=dict)
    stale: set[int] = field(default_factory=set)
    """The homes whose session's sum of tokens has to be worked out again."""
    counter: int = 0
    taken_back: tuple[tuple[int, int], ...] = ()
    """The numbers, after the first of a pair and up to its second, that a restore took back."""

    def is_taken_back(self, number: int) -> bool:
        """Tell whether a number was given after the moment that the store went back to."""
        return any(low < number <= high for low, high in self.taken_back)

    def next_number(self) -> int:
        """Give a number that was never given before, larger than all."""
        self.counter += 1
        return self.counter


def is_number(text: str) -> bool:
    """Tell whether a text may be one of the counter's numbers."""
    return text.isascii() and text.isdigit() and len(text) <= 18

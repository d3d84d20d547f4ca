"""The oracle's sessions: what each sees, and what it is shown."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ...model import Edge, SystemFields
from .node import Cover, Home, Node, path_to


@dataclass
class Shown:
    """An entry of a history: a message, or an overlay with the pins shown after it."""

    node: Node | None = None
    cover: Cover | None = None
    pins: list[Node] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """What the entry costs in the context."""
        if self.node is not None:
            return self.node.tokens
        assert self.cover is not None
        return self.cover.tokens + sum(pin.tokens for pin in self.pins)

    @property
    def depths(self) -> tuple[int, int]:
        """The depths of the first and the last message that it stands for."""
        if self.node is not None:
            return self.node.depth, self.node.depth
        assert self.cover is not None
        return self.cover.first.depth, self.cover.last.depth

    @property
    def name(self) -> tuple[str, str]:
        """What an overlay's end calls it."""
        if self.node is not None:
            return "message", self.node.id
        assert self.cover is not None
        return "overlay", self.cover.id


@dataclass
class Kept:
    """A document, whose version is unknown until the store tells it."""

    value: bytes
    created_us: int
    expires_us: int | None = None
    inherit: bool = True
    version: int | None = None

    def is_expired(self, now_us: int) -> bool:
        """Whether it counts as not there."""
        return self.expires_us is not None and self.expires_us <= now_us


@dataclass(eq=False)
class Session:
    """A session, as naively as it can be kept."""

    id: str
    home: Home
    created_us: int
    active_us: int
    updated_us: int
    tree: object
    title: str | None = None
    kind: str = "chat"
    state: str = "active"
    tags: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    end_reason: str | None = None
    budget: int | None = None
    parent: Edge | None = None
    tip: Node | None = None
    fork_point: Node | None = None
    own: list[Node] = field(default_factory=list)
    covers: list[Cover] = field(default_factory=list)
    documents: dict[str, Kept] = field(default_factory=dict)
    closed: bool = False
    system: SystemFields = field(default_factory=SystemFields)
    version: int = 0
    """How often it was changed, above the version that the store said it began with."""
    stale: bool = False
    """Whether its sum of tokens may wait for `finish_deletions`, or for a write through it."""

    def seen(self) -> list[Node]:
        """Return all nodes that it sees: the path to its fork point, and its own."""
        return [*path_to(self.fork_point), *self.own]

    def find(self, id: str) -> Node | None:
        """Find a node that it sees, deleted or not."""
        return next((node for node in self.seen() if node.id == id), None)

    def children(self, parent: Node | None) -> list[Node]:
        """Return the live nodes that it sees right after one, or after marks that follow it."""
        found: list[Node] = []
        for node in self.seen():
            if node.parent is parent and node.mark:
                found += self.children(node)
            elif node.parent is parent and not node.deleted:
                found.append(node)
        return found

    def leaves(self) -> list[Node]:
        """Return the nodes that nothing it sees follows."""
        seen = self.seen()
        parents = {node.parent for node in seen}
        return [node for node in seen if node not in parents]

    def count(self) -> int:
        """Count the live messages that it wrote."""
        return sum(not node.deleted for node in self.own)

    def shown(self, leaf: Node | None, overlays: bool = True) -> list[Shown]:
        """Return what a path shows, from the root to the leaf."""
        entries: list[Shown] = []
        path, pinned_ids = path_to(leaf), self.pinned
        while path:
            cover = self._deepest(path) if overlays else None
            if cover is None or cover.last is not path[-1]:
                node = path.pop()
                if not node.deleted:
                    entries.append(Shown(node=node))
                continue
            inside = cover.nodes
            pinned = [n for n in path if n in inside and not n.deleted and n.id in pinned_ids]
            entries.append(Shown(cover=cover, pins=pinned))
            path = [node for node in path if node not in inside]
        return entries[::-1]

    def _deepest(self, path: list[Node]) -> Cover | None:
        """Of the overlays that end on a path: the deepest, of those the widest, the newest."""
        ending = [cover for cover in self.covers if cover.last in path]
        return max(ending, key=lambda c: (path.index(c.last), len(c.nodes), c.number), default=None)

    @property
    def expiring(self) -> list[str]:
        """The keys of its documents that expire, or have."""
        return [key for key, kept in self.documents.items() if kept.expires_us is not None]

    @property
    def pinned(self) -> set[str]:
        """The ids that its document `pins` names."""
        pins = self.documents.get("pins")
        return set(json.loads(pins.value)) if pins else set()

    def context_tokens(self, leaf: Node | None) -> int:
        """Add up all that is visible at a leaf."""
        return sum(entry.tokens for entry in self.shown(leaf))

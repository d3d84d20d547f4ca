"""The oracle's tree: nodes that point to their parents, and walks along them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...model import NewMessage, Position


@dataclass(eq=False)
class Home:
    """Who wrote a message: a session until it is deleted or cleared, nobody after that."""

    session: str
    alive: bool = True


@dataclass(eq=False)
class Node:
    """A place in the tree and the message that stands there, or stood there."""

    message: NewMessage
    first: str
    parent: Node | None
    home: Home
    tokens: int
    created_us: int
    extra: dict[str, Any] = field(default_factory=dict)
    version: int = 1
    deleted: bool = False
    mark: bool = False
    """It never had a message: as far as messages go, it is deleted."""
    data: dict[str, Any] | None = None
    changed: int = 0
    position: Position | None = None
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        """Count on from the parent."""
        self.depth = 1 if self.parent is None else self.parent.depth + 1

    @property
    def id(self) -> str:
        """The message's id, which stays when it is deleted."""
        assert self.message.id is not None
        return self.message.id


def data_node(node: Node | None) -> Node | None:
    """Return the nearest node that has data, at a node or above it."""
    return next((it for it in upwards(node) if it.data is not None), None)


def versions_above(node: Node | None) -> list[Node]:
    """Return all nodes that have data, at a node and above it, the nearest first."""
    return [it for it in upwards(node) if it.data is not None]


def upwards(node: Node | None) -> Iterator[Node]:
    """Walk from a node to the root."""
    while node is not None:
        yield node
        node = node.parent


def path_to(node: Node | None) -> list[Node]:
    """Return the path from the root to a node."""
    return list(upwards(node))[::-1]


def spelt(data: dict[str, Any] | None) -> str:
    """Write down data in one spelling."""
    return json.dumps(data, sort_keys=True)


def content(message: NewMessage) -> str:
    """Write down what a repeated append is compared by, in one spelling."""
    if message.digest is not None:
        return message.digest.hex()
    parts = [part.to_json() for part in message.parts]
    said = [message.role, parts, message.metadata, message.name]
    return json.dumps(said, sort_keys=True)


@dataclass(eq=False)
class Cover:
    """An overlay: the set of nodes that it stands in for, from its last to its first."""

    id: str
    first: Node
    last: Node
    summary: str
    tokens: int
    covered_tokens: int
    created_by: str
    created_us: int
    number: int

    @property
    def nodes(self) -> set[Node]:
        """Walk from the last node to the first."""
        found: set[Node] = set()
        for node in upwards(self.last):
            found.add(node)
            if node is self.first:
                break
        return found

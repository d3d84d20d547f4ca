"""New places in the oracle's tree: a message, or a mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import MessageConflictError
from ...model import NewMessage
from .base import Refused
from .node import Home, Node, content, spelt


def mark_message(id: str) -> NewMessage:
    """Return what stands for a mark: it says nothing."""
    return NewMessage(role="", parts=[], id=id, tokens=0)


def new_mark(id: str, parent: Node | None, home: Home, now_us: int) -> Node:
    """Return a mark."""
    message = mark_message(id)
    return Node(message, content(message), parent, home, 0, now_us, deleted=True, mark=True)


def new_node(message: NewMessage, parent: Node | None, home: Home, now_us: int) -> Node:
    """Return a message where it was appended."""
    said = now_us if message.created_us is None else message.created_us
    extra = message.extra if isinstance(message.extra, dict) else {}
    return Node(message, content(message), parent, home, message.tokens or 0, said, extra)


def refuse_other_data(
    known: list[Node], batch: Sequence[NewMessage], data: dict[str, Any] | None
) -> None:
    """Refuse known nodes that have other data: only the last of a batch is given any.

    A digest that was given speaks for the data, too.
    """
    for n, (node, message) in enumerate(zip(known, batch, strict=False), 1):
        is_other = spelt(node.data) != spelt(data if n == len(batch) else None)
        if is_other and message.digest is None:
            raise Refused(MessageConflictError)

"""The raw side: what a driver does when it is used by hand, one for each kind of server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from sapwood.model import Message, NewMessage
from sapwood.rules.codec import Body, pack

_decode = msgspec.json.Decoder(Body).decode


@dataclass(frozen=True)
class Said:
    """A message made ready: checked, encoded and counted before the clock starts."""

    id: str
    role: str
    tokens: int
    body: bytes


def ready(messages: Iterable[NewMessage], new_id: Any) -> list[Said]:
    """Make messages ready."""
    packed = (pack(message, new_id) for message in messages)
    return [Said(it.id, it.role, it.tokens, it.body) for it in packed]


def decoded(session: str, depth: int, id: str, role: str, tokens: int, body: bytes) -> Message:
    """Make the record of a row, as the stores do."""
    held = _decode(body)
    return Message(
        id=id,
        role=role,
        parts=held.parts,
        metadata=held.metadata,
        segment="1",
        depth=depth,
        home=session,
        tokens=tokens,
        version=1,
        created_us=0,
    )


class Raw(ABC):
    """A driver and one table, collection, index or key for each session, made by hand.

    Messages lie by session and depth; an id is unique within its session. `insert` sends one
    message and has it committed.
    """

    strict_insert: Callable[[str, int, Said], None] | None = None
    """A quicker way to store one message by hand, where there is one; shown, and not judged."""

    @abstractmethod
    def __init__(self, url: str) -> None: ...

    @abstractmethod
    def insert(self, session: str, depth: int, said: Said) -> None:
        """Store one message."""

    @abstractmethod
    def fill(self, session: str, said: Sequence[Said]) -> None:
        """Store many messages, beginning at depth 1, in the cheapest way; it is not measured."""

    @abstractmethod
    def range(self, session: str, first: int, last: int) -> list[Message]:
        """Read messages by depth, and decode them."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the connections."""

    @abstractmethod
    async def open_pool(self, size: int) -> None:
        """Open connections for an event loop."""

    @abstractmethod
    async def insert_async(self, session: str, depth: int, said: Said) -> None:
        """Store one message, on a connection of the pool."""

    @abstractmethod
    async def close_pool(self) -> None:
        """Close the pool."""

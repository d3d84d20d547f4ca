"""Messages: as a client hands them in, and as they are stored."""

from __future__ import annotations

import enum
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from .part import Part, ReasoningPart, TextPart

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Root(enum.Enum):
    """The place above every first message: parent of a root, tip of an empty session."""

    ROOT = "root"

    def __repr__(self) -> str:
        return "ROOT"


ROOT: Final = Root.ROOT


def datetime_of(microseconds: int) -> datetime:
    """Turn a store's time into an aware UTC datetime."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds_of(moment: datetime) -> int:
    """Turn an aware datetime into a store's time."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


class _Dated:
    """What was made at some time."""

    __slots__ = ()

    created_us: int

    @property
    def created_at(self) -> datetime:
        """When it was made, by the store's clock; if said elsewhere before, as its client said."""
        return datetime_of(self.created_us)


class _Said:
    """What has parts that can be read as text."""

    __slots__ = ()

    parts: list[Part]

    @property
    def text(self) -> str:
        """The text parts, one after the other."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


class Position(msgspec.Struct, frozen=True, order=True):
    """Where a message stands: given once, never used again. `depth` counts from the root, from 1.

    `segment` is opaque: compare it for equality only.
    """

    segment: str
    depth: int


class NewMessage(_Said, msgspec.Struct, frozen=True, kw_only=True):
    """A message to append. Without an id it gets one; without tokens they are estimated.

    `name` tells several speakers of one role apart. `created_us` is for what was said elsewhere
    before; without it, it is the store's clock. `extra` is kept beside the message: it is not
    compared, searched, counted as tokens or shown to a model. An update without one keeps what is
    there. `digest`, of 1 to 32 bytes, is what a repeated append is compared by in place of the
    store's own: for what wraps a store and seals what is said, each time in another way. It speaks
    for the data that is appended with the message, too.
    """

    role: str
    parts: list[Part]
    metadata: dict[str, Any] = {}
    id: str | None = None
    tokens: int | None = None
    created_us: int | None = None
    extra: dict[str, Any] | UnsetType = UNSET
    name: str | None = None
    digest: bytes | None = None


class Message(_Dated, _Said, msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stored message. `home` is the session that wrote it, or None when that is gone.

    `data_at` is where the version of the data stands that holds there; None when there is none.
    """

    id: str
    role: str
    parts: list[Part]
    metadata: dict[str, Any]
    segment: str
    depth: int
    home: str | None
    tokens: int
    version: int
    created_us: int
    extra: dict[str, Any] = {}
    name: str | None = None
    data_at: Position | None = None

    @property
    def position(self) -> Position:
        """The place in the tree."""
        return Position(self.segment, self.depth)

    @property
    def reasoning(self) -> str:
        """The reasoning parts, one after the other."""
        return "\n".join(part.text for part in self.parts if isinstance(part, ReasoningPart))


OnKnown = Literal["return", "raise", "skip"]
"""What an append does about messages that are stored already."""


class Appended(msgspec.Struct, frozen=True, kw_only=True):
    """What an append did: the stored messages in order, and how many of them were new.

    `context_tokens` is that of the session's record after it, and `stamp` the record's version and
    `created_us`, where the store knows them without reading on; None otherwise. `documents` has the
    version of each document that came along, 0 where none is stored. `known` are the ids that were
    stored before, and `elsewhere` those of them that are not on the path to the tip: a retry after
    the tip was moved is acknowledged, and not in the history. A mark is not among the messages, and
    counts as written. `data_at` is where the data that was given stands.
    """

    messages: list[Message]
    written: int
    tip: str | Root
    context_tokens: int | None = None
    stamp: tuple[int, int] | None = None
    documents: dict[str, int] = {}
    known: list[str] = []
    elsewhere: list[str] = []
    data_at: Position | None = None


class UpdatedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is after an update, and the versions of the documents that came along."""

    message: Message
    documents: dict[str, int] = {}


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """What a deletion did: the ids erased now, and the overlays whose summaries may quote them.

    `data` are the versions that were appended with them, and stay.
    """

    ids: list[str]
    quoting_overlays: list[str]
    data: list[Position] = []


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a branch. `message` is None when it was deleted, or is a mark."""

    id: str
    position: Position
    message: Message | None


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the messages that a session sees, and whether there are more after them."""

    messages: list[Message]
    more: bool


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """An empty position: its message was deleted. The id stays taken, `home` wrote the message."""

    id: str
    position: Position
    home: str | None

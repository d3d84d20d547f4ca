"""Units of work as they are recorded: each holds its whole effect, and is all there is of it.

A segment is named by the log that it was made in and its number there, so that no counter is
shared by the sessions of a tree. The rules want one number for both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import msgspec

from ...model import CHAT, Position, SystemFields
from ...rules.codec import MARK_ROLE
from ...rules.system import NO_SYSTEM
from ...rules.tree import Place

NUMBER_BITS = 32
REMEMBERED = 10_000
"""Segments whose names are not put together again for each message that is read."""
_MASK = (1 << NUMBER_BITS) - 1

StoredPlace = tuple[str, int, int]
"""A position as it is stored: its log (empty for the log that it is stored in), segment, depth."""


def segment_of(log: str, number: int) -> int:
    """Return a segment as the rules know it."""
    return int(log, 16) << NUMBER_BITS | number


@lru_cache(REMEMBERED)
def log_of(segment: int) -> str:
    """Return the log that a segment was made in."""
    return f"{segment >> NUMBER_BITS:030x}"


def number_of(segment: int) -> int:
    """Return a segment's number in its log."""
    return segment & _MASK


@lru_cache(REMEMBERED)
def segment_name(segment: int) -> str:
    """Return a segment's name in the database and for users."""
    return f"{log_of(segment)}.{number_of(segment)}"


def public(place: Place) -> Position:
    """Return a position as users see it."""
    return Position(segment_name(place.segment), place.depth)


def place_of(position: Position) -> Place | None:
    """Return the place of a position as users see it; None when there can be none."""
    log, _, number = position.segment.partition(".")
    is_ours = _is_log(log) and number.isascii() and number.isdigit() and len(number) <= 9
    if not is_ours or position.segment != f"{log}.{int(number)}":
        return None
    return Place(segment_of(log, int(number)), position.depth)


def _is_log(text: str) -> bool:
    return len(text) == 30 and set(text) <= set("0123456789abcdef")


def to_wire(place: Place, log: str) -> StoredPlace:
    """Return a position as it is stored in a log."""
    own = log_of(place.segment)
    return "" if own == log else own, number_of(place.segment), place.depth


def from_wire(wire: StoredPlace, log: str) -> Place:
    """Return a stored position as the rules know it."""
    return Place(segment_of(wire[0] or log, wire[1]), wire[2])


class AppendedMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message where it was appended. One without a body was edited or erased since, or is a mark.

    A copy has the version and the first digest of what it is a copy of, or 0 when that was erased.
    Any other has a digest where one was given.
    """

    id: str
    role: str | None
    tokens: int
    created_us: int
    body: bytes | None
    version: int = 1
    digest: bytes | None = None
    data: bytes | None = None

    @property
    def is_mark(self) -> bool:
        """Whether it is a position that only has data."""
        return self.role == MARK_ROLE


class Bundle(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Some of the messages of a large batch, compressed: how many, and their tokens."""

    count: int
    tokens: int
    data: bytes


class Append(msgspec.Struct, frozen=True, array_like=True, tag="append"):
    """Messages at the end of a segment, which becomes the tip; `base` are the tokens above them."""

    at_us: int
    number: int
    first: int
    is_new: bool
    parent: StoredPlace | None
    base: int
    messages: list[AppendedMessage]
    bundles: list[Bundle] = []
    """The messages, while they are stored, when they are many."""
    data_at: StoredPlace | None = None
    """Where the data stands that holds at the parent of a new segment."""
    clears: bool = False
    """The session was cleared before, and this is the mark by which it keeps its data."""
    version: int = 0
    """That which its record had then."""


class Edit(msgspec.Struct, frozen=True, array_like=True, tag="edit"):
    """Other content for a message of this log; `appended` is the record that it was appended by.

    Without a body it was edited or erased again since.
    """

    at_us: int
    number: int
    depth: int
    appended: int
    id: str
    version: int
    original: int
    """The tokens that it had when it was appended."""
    tokens: int
    created_us: int
    role: str | None
    digest: bytes | None
    body: bytes | None
    as_it_lies: bool = False
    """It was written anew, and not changed: nobody is told."""


class ErasedPlace(msgspec.Struct, frozen=True, array_like=True):
    """A message to be erased: where it stands, by which record, and what it counted there."""

    place: StoredPlace
    appended: int
    tokens: int
    id: str
    told: bool = True
    """Whether the change feed is told of it here; another log's was told where it was decided."""
    version: int = 0
    """The version that it has by that; 0 where that was not kept."""


class Erase(msgspec.Struct, frozen=True, array_like=True, tag="erase"):
    """Messages are erased; those of other logs are erased there, too, after this."""

    at_us: int
    spots: list[ErasedPlace]


class EraseField(msgspec.Struct, frozen=True, array_like=True, tag="unset"):
    """A field is taken out of the data, in segments down to a position in each.

    Those of other logs are erased there, too, after this.
    """

    at_us: int
    field: str
    ends: list[StoredPlace]


class RewriteData(msgspec.Struct, frozen=True, array_like=True, tag="redata"):
    """A version of this log's data is written anew; without a value that was replaced since."""

    number: int
    depth: int
    value: bytes | None


class LogProfile(msgspec.Struct, frozen=True, array_like=True):
    """What a user may change of a session."""

    title: str | None
    state: str
    tags: list[str]
    attributes: bytes
    budget: int | None
    model: str | None = None
    source: str | None = None
    end_reason: str | None = None
    closed: bool = False
    kind: str = CHAT
    system: SystemFields = NO_SYSTEM


class ChangeProfile(msgspec.Struct, frozen=True, array_like=True, tag="change"):
    """The session's record is changed."""

    profile: LogProfile
    at_us: int = 0
    active_us: int | None = None
    as_it_lies: bool = False


class MoveTip(msgspec.Struct, frozen=True, array_like=True, tag="move"):
    """The tip is moved."""

    tip: StoredPlace | None
    id: str | None
    base: int
    at_us: int = 0


class AddOverlay(msgspec.Struct, frozen=True, array_like=True, tag="cover"):
    """An overlay is put in force, or anew: `above` are tokens above it, `base` those to its end."""

    id: str
    first: StoredPlace
    last: StoredPlace
    above: int
    base: int
    tokens: int
    covered: int
    stamp: int
    created_by: str
    created_us: int
    metadata: bytes
    summary: str


class UndoOverlay(msgspec.Struct, frozen=True, array_like=True, tag="uncover"):
    """An overlay is taken out of force, by its stamp."""

    stamp: int


class PutDocument(msgspec.Struct, frozen=True, array_like=True, tag="put"):
    """A document is put; without a value it was replaced or deleted since."""

    key: str
    updated_us: int
    expires_us: int | None
    value: bytes | None
    inherit: bool = True
    as_it_lies: bool = False
    """Its version and times stay."""


class RenewDocument(msgspec.Struct, frozen=True, array_like=True, tag="renew"):
    """A document expires later."""

    key: str
    expires_us: int


class DropDocument(msgspec.Struct, frozen=True, array_like=True, tag="drop"):
    """A document is deleted."""

    key: str


class AddUsage(msgspec.Struct, frozen=True, array_like=True, tag="usage"):
    """A model call is counted."""

    id: str
    model: str
    message: str | None
    figures: tuple[int, int, int, int, int]


class BeginFork(msgspec.Struct, frozen=True, array_like=True, tag="pin"):
    """A fork is about to be made here: its entry, its log, and the position that it stands on."""

    shard: str
    entry: str
    log: str
    at: StoredPlace | None


class Clear(msgspec.Struct, frozen=True, array_like=True, tag="clear"):
    """All messages are retired, and the session goes on; its record had that version."""

    at_us: int
    version: int = 0


class Retire(msgspec.Struct, frozen=True, array_like=True, tag="retire"):
    """The session is deleted, its record had that version. Only erasures of what forks stand on may
    follow.
    """

    at_us: int
    version: int = 0


class NoteSwept(msgspec.Struct, frozen=True, array_like=True, tag="swept"):
    """What was retired before this record, and nobody stands on, is gone."""


class WritePage(msgspec.Struct, frozen=True, array_like=True, tag="page"):
    """Nothing happened; the state is written down. A copy ends with when it was active last."""

    active_us: int | None = None
    updated_us: int = 0


class SkipNumbers(msgspec.Struct, frozen=True, array_like=True, tag="skip"):
    """Nothing happened, and the log goes on after a number: those up to it were given out once."""

    n: int


class AdvanceFeed(msgspec.Struct, frozen=True, array_like=True, tag="advance"):
    """The change feed of an owner goes on with the records of these logs, up to these numbers."""

    at_us: int
    parts: list[tuple[str, str, str, int, int]]
    """The session's id, its tree and log, and the first and last record."""


class ForgetReader(msgspec.Struct, frozen=True, array_like=True, tag="forget"):
    """A reader of the change feed holds nothing back any more."""

    reader: str


class RegisterReader(msgspec.Struct, frozen=True, array_like=True, tag="register"):
    """A reader of the change feed has read up to a record of it."""

    reader: str
    n: int


class TrimFeed(msgspec.Struct, frozen=True, array_like=True, tag="trim"):
    """The change feed is forgotten up to a record of it."""

    n: int


class OpenShelf(msgspec.Struct, frozen=True, array_like=True, tag="shelf"):
    """Of an owner's documents, there are some on a shelf from now on."""

    number: int


class WipeLog(msgspec.Struct, frozen=True, array_like=True, tag="wipe"):
    """All that an owner's log has is gone."""


LogWork = (
    Append
    | Edit
    | Erase
    | EraseField
    | RewriteData
    | ChangeProfile
    | MoveTip
    | AddOverlay
    | UndoOverlay
    | PutDocument
    | RenewDocument
    | DropDocument
    | AddUsage
    | BeginFork
    | Clear
    | Retire
    | NoteSwept
    | WritePage
    | SkipNumbers
    | AdvanceFeed
    | RegisterReader
    | ForgetReader
    | TrimFeed
    | OpenShelf
    | WipeLog
)


class CombinedWork(NamedTuple):
    """Work that is recorded as one: what it is for, and what comes along with that."""

    work: LogWork
    also: list[LogWork]


def combined(works: list[LogWork]) -> CombinedWork | None:
    """Record works as one, the first of them as what it is for; None when there is nothing to."""
    return CombinedWork(works[0], works[1:]) if works else None

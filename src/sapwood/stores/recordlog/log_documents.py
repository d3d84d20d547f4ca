"""What is put into the database: one shape of document for everything, and how each is named.

Of the three kinds, entries and look-ups are written and read here: an entry says that there is a
session of this name, or an owner who has more than sessions; a look-up where a message stands, or
which record counts a usage.

Names are made of hexadecimal digits, slashes and numbers only, and are short: what a client chose
(an owner, a session's id, a message's id) is in them as a digest.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable
from typing import TypeVar

import msgspec

from ...errors import StoreCorruptError
from ...rules.tree import Place
from .errors import decoded
from .state import LogState, MessagePlace
from .work import number_of, segment_of

T = TypeVar("T")

MOST_IN_A_RECORD = 10_000
"""How many messages one record may have: a range is found by the ends of records."""


class LogKind(enum.Enum):
    """What a document is for; a driver may keep each kind in a place of its own."""

    RECORD = "record"
    """A unit of work: `log` and `n` say which, and `segment`, `first`, `last` where it appended."""
    ENTRY = "entry"
    """That there is a session, or an owner, of this name: found by `owner` and by its id."""
    LOOKUP = "lookup"
    """Something that is only ever got by its id, and never changes."""


class LogDocument(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A document. `data` is for the log alone to read; the other fields are what it asks by.

    The shard is a part of the id, so that one id is only ever on one shard.
    """

    kind: LogKind
    id: str
    shard: str
    """A tree's name, or what stands for it: all of one tree is on one shard."""
    data: bytes
    owner: str = ""
    log: str = ""
    n: int = 0
    is_page: bool = False
    """The record has the state of its log after it, so that nothing before it has to be read."""
    segment: str = ""
    """The segment that the record's messages stand in; empty when it has none."""
    first: int = 0
    last: int = 0


class LogKey(msgspec.Struct, frozen=True, gc=False):
    """Names a document."""

    kind: LogKind
    shard: str
    id: str


def key_of(stored: LogDocument) -> LogKey:
    """Return the name of a document."""
    return LogKey(stored.kind, stored.shard, stored.id)


def digest(*names: str) -> str:
    """Return what stands for names that a client chose."""
    text = "".join(f"{len(name)}:{name}" for name in names)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def record_key(tree: str, log: str, n: int) -> LogKey:
    """Name the record of a log by its number; names sort as numbers do."""
    return LogKey(LogKind.RECORD, tree, f"{tree}/{log}/{n:012d}")


def entry_key(owner: str, session: str, k: int) -> LogKey:
    """Name the entry of the k-th session that an owner has under an id."""
    shard = digest(owner, session)
    return LogKey(LogKind.ENTRY, shard, f"{shard}/{k}")


def owner_log(owner: str, what: str) -> str:
    """Name a log of an owner's, which is also its tree."""
    return digest(owner, "", what)


def is_owner_log(log: str) -> bool:
    """Whether a log is an owner's: a session's has a shorter name."""
    return len(log) >= len(digest())


def first_state(tree: str, log: str) -> LogState:
    """Return the state of a log without a record.

    On a shelf, versions are higher than those that its documents had when they were together.
    """
    return LogState(tree=tree, log=log, k=2 if len(log) > len(digest()) else 1)


def id_key(tree: str, log: str, epoch: int, message: str) -> LogKey:
    """Name the look-up of a message's id among those of a home."""
    return LogKey(LogKind.LOOKUP, tree, f"{tree}/{log}/{epoch}/{digest(message)}")


def usage_key(tree: str, log: str, usage: str) -> LogKey:
    """Name the look-up of a usage's id among those of a session."""
    return LogKey(LogKind.LOOKUP, tree, f"{tree}/{log}/usage/{digest(usage)}")


def value_key(tree: str, log: str, document: str, n: int) -> LogKey:
    """Name the copy of a document's value that a fork begins with, by its number."""
    return LogKey(LogKind.LOOKUP, tree, f"{tree}/{log}/value/{digest(document)}/{-n}")


_encode = msgspec.msgpack.Encoder().encode
_decode_spot = msgspec.msgpack.Decoder(tuple[int, int, int]).decode
_decode_number = msgspec.msgpack.Decoder(int).decode


def document_at(key: LogKey, data: bytes, owner: str = "") -> LogDocument:
    """Return a document of a name."""
    return LogDocument(kind=key.kind, id=key.id, shard=key.shard, data=data, owner=owner)


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """What an entry names; an owner's own has no session."""

    owner: str
    session: str = ""
    k: int = 0
    tree: str = ""
    log: str = ""
    ended: int = 0
    """The record by which it was deleted, once that and what it left behind are done with."""

    @property
    def key(self) -> LogKey:
        """Its name."""
        if self.session:
            return entry_key(self.owner, self.session, self.k)
        shard = digest(self.owner)
        return LogKey(LogKind.ENTRY, shard, f"{shard}/owner")

    def stored(self) -> LogDocument:
        """Return it as it is stored."""
        return document_at(self.key, _encode(self), self.owner)


_decode_entry = msgspec.msgpack.Decoder(LogEntry).decode


def entry_of(stored: LogDocument) -> LogEntry | None:
    """Read an entry; None for one that is void: nobody can make a session of it."""
    return decoded(_decode_entry, stored.data, f"entry {stored.id}") if stored.data else None


def lookups_of(state: LogState) -> list[LogDocument]:
    """Return the look-ups of all that was recorded since the page."""
    tree, log = state.tree, state.log
    spots = {
        id_key(tree, log, state.epoch, id): (number_of(at.place.segment), at.place.depth, at.n)
        for id, at in state.recent.items()
    }
    counts = {usage_key(tree, log, id): n for id, n in state.recent_usage.items()}
    return [document_at(key, _encode(it)) for key, it in (*spots.items(), *counts.items())]


def spotted_by(stored: LogDocument, log: str) -> MessagePlace:
    """Read where a message of a log stands."""
    number, depth, n = _looked_up(stored, _decode_spot)
    return MessagePlace(Place(segment_of(log, number), depth), n)


def counted_by(stored: LogDocument) -> int:
    """Read which record counts a usage."""
    return _looked_up(stored, _decode_number)


def _looked_up(stored: LogDocument, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(stored.data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(
            f"look-up {stored.id} cannot be decoded: call admin.repair() ({error})"
        ) from error

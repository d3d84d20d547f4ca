"""What is put into the database: one shape of document for everything, and how each is named.

Names are made of hexadecimal digits, slashes and numbers only, and are short: what a client chose
(an owner, a session's id, a message's id) is in them as a digest.
"""

from __future__ import annotations

import enum
import hashlib

import msgspec

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


def owner_key(owner: str) -> LogKey:
    """Name the entry of an owner who has documents."""
    shard = digest(owner)
    return LogKey(LogKind.ENTRY, shard, f"{shard}/owner")


def owner_log(owner: str, what: str) -> str:
    """Name a log of an owner's, which is also its tree."""
    return digest(owner, "", what)


def is_owner_log(log: str) -> bool:
    """Whether a log is an owner's: a session's has a shorter name."""
    return len(log) == len(digest())


def id_key(tree: str, log: str, epoch: int, message: str) -> LogKey:
    """Name the look-up of a message's id among those of a home."""
    return LogKey(LogKind.LOOKUP, tree, f"{tree}/{log}/{epoch}/{digest(message)}")


def usage_key(tree: str, log: str, usage: str) -> LogKey:
    """Name the look-up of a usage's id among those of a session."""
    return LogKey(LogKind.LOOKUP, tree, f"{tree}/{log}/usage/{digest(usage)}")


def value_key(tree: str, log: str, document: str, n: int) -> LogKey:
    """Name the copy of a document's value that a fork begins with, by its number."""
    return LogKey(LogKind.LOOKUP, tree, f"{tree}/{log}/value/{digest(document)}/{-n}")

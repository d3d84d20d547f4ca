"""What an index holds: messages and summaries, and how far it has followed the feed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ...model import Message, Overlay, Position
from ...rules.query import Query
from ...rules.text import searchable

_HALF = 20


class IndexGoneError(Exception):
    """The index is not there: somebody removed it. It is made anew, and filled."""


def hashed(*parts: Any) -> str:
    """Return a short name to what may be long or hold any character."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]


class IndexEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is indexed; `session` is its home, or nothing when that is gone."""

    owner: str
    session: str
    id: str
    position: Position
    version: int
    role: str
    created_us: int
    text: str

    @classmethod
    def of(cls, owner: str, message: Message) -> IndexEntry:
        """Return the entry of a message as it is now."""
        return cls(
            owner=owner,
            session=message.home or "",
            id=message.id,
            position=message.position,
            version=message.version,
            role=message.role,
            created_us=message.created_us,
            text=searchable(message.parts),
        )

    @property
    def key(self) -> str:
        """What the entry is stored under, whoever stores it, however often.

        It orders what was said at the same time. So it is greater when the home is gone: a message
        that a page has shown does not come again below it.
        """
        place = (self.position.segment, self.position.depth)
        told = hashed(self.session)[:_HALF] if self.session else "z" * _HALF
        return hashed(self.owner, self.id, *place, self.created_us)[:_HALF] + told


CandidateOrder = tuple[int, str]
"""When a candidate was said, and its key."""


class SearchCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """What an index gives for a question: a message, or a session some of whose summaries match.

    They come by `created_us` and `key`, the greatest first. `order` is where a list goes on.
    """

    key: str
    kind: Literal["message", "summaries"]
    session: str
    id: str
    segment: str
    depth: int
    version: int
    created_us: int
    order: list[Any]

    def is_at(self, message: Message) -> bool:
        """Whether a message is the one that was indexed."""
        return (message.segment, message.depth) == (self.segment, self.depth)


class FeedMark(msgspec.Struct, frozen=True, kw_only=True):
    """How far an owner's feed was followed. `token` is what the index knows this mark by."""

    cursor: str
    token: Any


class IndexedSummaries(msgspec.Struct, frozen=True, kw_only=True):
    """The overlays of a session as they are indexed; `token` as in a mark."""

    digest: str
    token: Any


class SessionScope(msgspec.Struct, frozen=True, kw_only=True):
    """Where to look for what a session sees: what it wrote, and what stands in these segments."""

    session: str
    segments: list[str]


class SearchQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What an index is asked: a query, in all that the owner has or in a scope.

    With `around_us`, only for sessions that have summaries both from before that time, or of it,
    and from after it, or of it.
    """

    query: Query
    scope: SessionScope | None = None
    around_us: int | None = None


class EntryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries to list: those of sessions, those with ids, or all messages."""

    sessions: Sequence[str] | None = None
    ids: Sequence[str] | None = None


def digest_of(overlays: Sequence[Overlay]) -> str:
    """Return what tells these overlays from others."""
    return hashed(*[(it.id, it.created_us, it.summary) for it in overlays])

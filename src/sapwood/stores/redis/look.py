"""A session as it was looked at: what units of work decide by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...model import Message, Position
from ...rules.codec import MARK_DIGEST, decode_body, digest
from .entries import MARK, message_of, split_entry
from .rows import RedisSessionRow, name_of


class PlacedMessage(NamedTuple):
    """Where a message stands, and what is stored there."""

    segment: int
    depth: int
    above: int
    """The depth that its segment's first message follows."""
    home: str
    session: str | None
    """The home's session; None when it is gone."""
    entry: bytes
    parent: str
    """The id of the message before it; empty at the root."""
    edit: bytes | None
    """What is kept of its latest edit: the tree's version, the change of tokens, the digest.

    Of one that was not edited, 0, 0 and the digest, if that was given or it is a copy.
    """
    version: bytes | None
    """The version of the data that stands here itself: where the one before does, the value."""

    @property
    def position(self) -> Position:
        """Where it stands."""
        return Position(str(self.segment), self.depth)

    def message(self) -> Message | None:
        """Return the message; None when it was deleted, or is a mark."""
        return message_of(self.entry, str(self.segment), self.depth, self.session)

    def first_digest(self) -> bytes | None:
        """Return the digest of the message as it was first appended; None when it was deleted."""
        head, body = split_entry(self.entry)
        if not body:
            return MARK_DIGEST if head.role == MARK else None
        if self.edit is not None:
            return bytes.fromhex(self.edit.split(b" ")[2].decode())
        return digest(head.role, decode_body(body, head.id))

    def data(self) -> bytes | None:
        """Return the data that stands here itself."""
        return None if self.version is None else self.version.partition(b"\n")[2]


class Look(NamedTuple):
    """A session as it was looked at, the state of its tree then, and where messages stand."""

    tree: str
    version: int
    appends: int
    segments: int
    homes: int
    is_edited: bool
    now: int
    row: RedisSessionRow
    sessions: Mapping[str, str]
    """All sessions of the tree by their homes, where these were asked for."""
    places: Sequence[PlacedMessage | None]


class TreeState(NamedTuple):
    """The state of a tree, where nothing else was looked at."""

    tree: str
    version: int
    appends: int


def look_of(tree: str, session: str, answer: Sequence[Any]) -> Look:
    """Make a look of what the script answered."""
    _, state, now, fields, names, places = answer
    return Look(
        tree=tree,
        version=int(state[0]),
        appends=int(state[1]),
        segments=int(state[2]),
        homes=int(state[3]),
        is_edited=state[4] is not None,
        now=int(now),
        row=RedisSessionRow(session, _pairs(fields)),
        sessions={home.decode(): id.decode() for home, id in _pairs(names).items()},
        places=[None if it is None else _placed(it) for it in places],
    )


def _placed(found: Sequence[Any]) -> PlacedMessage:
    segment, depth, above, home, session, entry, parent, *kept = found
    return PlacedMessage(
        segment, depth, above, home.decode(), name_of(session), entry, parent.decode(), *kept
    )


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))

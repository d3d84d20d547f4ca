"""The end of a session's path, and what a listing shows of it: a preview, and what is unread."""

from __future__ import annotations

import msgspec

from .message import Message, Position, Root, _Dated
from .record import Document


class Recent(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the path to a session's tip, without overlays, and a document of the session.

    `messages` are the last 4 that are not of the role "tool", of the last 32 places, in path order
    and without `data_at`. `empty` are the depths, among these places, at which no message stands: a
    mark, or one that was deleted. `trail` is where the path leaves each of its last segments, from
    the tip up, as many as the store knows at once; `is_whole` says that it reaches the root.
    """

    tip: str | Root
    messages: list[Message] = []
    empty: list[int] = []
    trail: list[Position] = []
    is_whole: bool = True
    document: Document | None = None


class Preview(_Dated, msgspec.Struct, frozen=True, kw_only=True):
    """A message as a listing shows it: who said it, when, where it stands, and its first words.

    `text` is one line of at most 120 characters: of the message's text, or the names of its files.
    It is empty when none of the last messages has either.
    """

    id: str
    role: str
    name: str | None
    text: str
    position: Position
    created_us: int


class ReadMark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a user has read: down to this message, deleted or not.

    `trail` and `is_whole` are those of the path to it, as a `Recent` has them; without them, both
    paths are looked at when messages are counted.
    """

    message: str
    depth: int
    trail: list[Position] = []
    is_whole: bool = False

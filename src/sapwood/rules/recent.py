"""What a listing makes of the end of a path: a preview, and how many messages are unread.

The preview is made of messages as they are read, and not in a database: a store that wraps another
one and seals what is said has both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ..errors import StoreCorruptError
from ..model import Document, FilePart, Message, Position, Preview, ReadMark, Recent
from .codec import decode_stored
from .ids import check_name

RECENT_PLACES = 32
RECENT_MESSAGES = 4
PREVIEW_LENGTH = 120
TOOL = "tool"
"""The role of messages that no listing shows."""
READ_PREFIX = "read/"
_LOOKED_AT = 4_000
_decode = msgspec.json.Decoder(ReadMark).decode


def read_key(user: str) -> str:
    """Return the key of the document that says how far a user has read."""
    check_name(user, "user")
    return READ_PREFIX + user


def read_mark_of(document: Document) -> ReadMark:
    """Return what a document of a user's reading says."""
    otherwise = f"the document {document.key!r} cannot be read"
    return decode_stored(_decode, document.value, otherwise)


def elsewhere(document: Document) -> Document:
    """Return a document as it is in another store, where segments have other numbers."""
    if not document.key.startswith(READ_PREFIX):
        return document
    try:
        mark = read_mark_of(document)
    except StoreCorruptError:
        return document  # It is somebody's own, under a name like ours.
    bare = ReadMark(message=mark.message, depth=mark.depth)
    return msgspec.structs.replace(document, value=msgspec.json.encode(bare))


def preview_of(messages: Sequence[Message]) -> Preview | None:
    """Return the last message that has something to show, or else the last; None of none."""
    lines = [(it, _first_words(it)) for it in reversed(messages)]
    shown = next((pair for pair in lines if pair[1]), lines[0] if lines else None)
    if shown is None:
        return None
    message, text = shown
    return Preview(
        id=message.id,
        role=message.role,
        name=message.name,
        text=text,
        position=message.position,
        created_us=message.created_us,
    )


def _first_words(message: Message) -> str:
    files = (part.name or part.media_type for part in message.parts if isinstance(part, FilePart))
    texts = (message.text, ", ".join(files))
    lines = (" ".join(it.lstrip()[:_LOOKED_AT].split()) for it in texts)
    line = next((it for it in lines if it), "")
    if len(line) <= PREVIEW_LENGTH:
        return line
    return line[: PREVIEW_LENGTH - 1].rstrip() + "…"


def trail_of(tip: Position, messages: Iterable[Message]) -> list[Position]:
    """Return the trail that the last messages of a path show, which come from the tip up."""
    ends = {tip.segment: tip}
    for message in messages:
        ends.setdefault(message.segment, message.position)
    return list(ends.values())


def mark_at(recent: Recent, message: str, position: Position) -> ReadMark:
    """Return the mark of who has read down to a message, with the trail where that is known."""
    for index, end in enumerate(recent.trail):
        if end.segment == position.segment and position.depth <= end.depth:
            trail = [position, *recent.trail[index + 1 :]]
            is_whole = recent.is_whole
            break
    else:
        trail, is_whole = [position], False
    return ReadMark(message=message, depth=position.depth, trail=trail, is_whole=is_whole)


def common_depth(recent: Recent, mark: ReadMark) -> int | None:
    """Return how deep the path to the tip and that to a mark go together.

    None when their trails do not tell.
    """
    ends = {it.segment: it.depth for it in recent.trail}
    for place in mark.trail:
        if place.segment in ends:
            return min(place.depth, ends[place.segment])
    return 0 if recent.is_whole and mark.is_whole else None


def unread_after(recent: Recent, depth: int) -> int:
    """Count the messages of a path after a depth; beyond its last places, deleted ones, too."""
    if not recent.trail:
        return 0
    return recent.trail[0].depth - depth - sum(it > depth for it in recent.empty)

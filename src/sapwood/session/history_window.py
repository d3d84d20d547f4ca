"""A history that a limit cut off, mended where the cut went through a tool pair."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from ..model import Entry, History, Message, Read
from ..rules.codec import Body, encode_body
from ..rules.pairs import drop_parted, drop_unanswered_end


def without_parted(history: History, query: Read) -> History:
    """Leave out what the cut parted, and its bytes: results at the start, or calls at the end."""
    if not history.more:
        return history
    entries = _whole(history.entries, query)
    if entries is history.entries:
        return history
    lost = _only_in(history.entries, entries)
    mended = _only_in(entries, history.entries)
    size = history.bytes - _size(lost) + _size(mended)
    return msgspec.structs.replace(history, entries=entries, bytes=size)


def fewest(history: History, query: Read, least: int) -> int | None:
    """Return how many entries have to be read so that so many are left; None when all do not do."""
    entries = history.entries

    def left(count: int) -> int:
        part = entries[len(entries) - count :] if query.backwards else entries[:count]
        return len(_whole(part, query))

    # A longer part never leaves fewer.
    count = bisect_left(range(len(entries) + 1), least, key=left)
    return count if count <= len(entries) else None


def _whole(entries: list[Entry], query: Read) -> list[Entry]:
    return drop_parted(entries) if query.backwards else drop_unanswered_end(entries)


def past(skipped: History, query: Read) -> Read:
    """Go on beyond the entries that were skipped, on the path that they were read from."""
    if not query.backwards:
        return msgspec.structs.replace(query, leaf=skipped.leaf, after=skipped.entries[-1].depth)
    first = skipped.entries[0]
    depth = first.depth if isinstance(first, Message) else first.overlay.first.depth
    return msgspec.structs.replace(query, leaf=skipped.leaf, before=depth)


def _only_in(these: Iterable[Entry], those: Iterable[Entry]) -> list[Message]:
    there = {id(entry) for entry in those}
    return [e for e in these if isinstance(e, Message) and id(e) not in there]


def _size(messages: Iterable[Message]) -> int:
    return sum(stored_size(message) for message in messages)


def stored_size(message: Message) -> int:
    """Return the size of a message as it is stored, however large a new one may be."""
    body = Body(message.parts, message.metadata, message.extra, message.name)
    return len(encode_body(body, sys.maxsize, is_plain=True))

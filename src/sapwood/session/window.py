"""A history that a limit cut off, mended where the cut went through a tool pair."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..model import Entry, History, Message
from ..rules.codec import Body, encode_body
from ..rules.pairs import drop_parted


def without_parted(history: History) -> History:
    """Leave out the tool results whose call was cut off, and their bytes."""
    if not history.more:
        return history
    entries = drop_parted(history.entries)
    if entries is history.entries:
        return history
    lost = _only_in(history.entries, entries)
    mended = _only_in(entries, history.entries)
    size = history.bytes - _size(lost) + _size(mended)
    return msgspec.structs.replace(history, entries=entries, bytes=size)


def _only_in(these: Iterable[Entry], those: Iterable[Entry]) -> list[Message]:
    there = {id(entry) for entry in those}
    return [e for e in these if isinstance(e, Message) and id(e) not in there]


def _size(messages: Iterable[Message]) -> int:
    return sum(len(encode_body(Body(m.parts, m.metadata))) for m in messages)

"""Messages of which the body is not read."""

from __future__ import annotations

from msgspec.structs import replace

from ...model import Message
from .rows import BODY, Row

_NOTHING_SAID = b'{"parts":[]}'


def without_body(row: Row) -> Row:
    """Return a message's row of which only the body's size was read, as if it said nothing."""
    return (*row[:BODY], _NOTHING_SAID)


def bare(message: Message) -> Message:
    """Return a message without what its body says."""
    return replace(message, parts=[], metadata={}, extra={}, name=None)

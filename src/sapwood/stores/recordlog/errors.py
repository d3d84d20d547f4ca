"""What goes wrong in a log alone, in words."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TypeVar

import msgspec

from ...errors import MessageTooLargeError, StoreBusyError, StoreCorruptError

T = TypeVar("T")


class BehindError(Exception):
    """What was read is newer than the state that it is read by: catch up, and begin again."""


def busy() -> StoreBusyError:
    """Return the error for a log that others changed again and again."""
    return StoreBusyError("other writers were first, again and again: try again")


def too_many(count: int, most: int) -> MessageTooLargeError:
    """Return the error for a batch of too many messages."""
    return MessageTooLargeError(
        f"the batch has {count} messages and the limit is {most}: append in smaller batches",
        path="messages",
    )


def too_large(size: int, most: int) -> MessageTooLargeError:
    """Return the error for a unit of work that does not fit into one document."""
    return MessageTooLargeError(
        f"this takes {size} bytes and the database takes at most {most} in one document, which is "
        "what makes it all or nothing: append in smaller batches, or store large content elsewhere",
        path="messages",
    )


def decoded(decode: Callable[[bytes], T], data: bytes, what: str) -> T:
    """Decode what is stored; when that cannot be done, it is an error that says what it was."""
    try:
        return decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError, zlib.error) as error:
        raise StoreCorruptError(f"{what} cannot be decoded: {error}") from error

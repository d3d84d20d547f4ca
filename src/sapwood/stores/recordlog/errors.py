"""What goes wrong in a log alone, in words."""

from __future__ import annotations

from ...errors import MessageTooLargeError
from .log_documents import MOST_IN_A_RECORD


class BehindError(Exception):
    """What was read is newer than the state that it is read by: catch up, and begin again."""


def too_many(count: int) -> MessageTooLargeError:
    """Return the error for a batch of too many messages."""
    return MessageTooLargeError(
        f"the batch has {count} messages and the limit is {MOST_IN_A_RECORD}: "
        "append in smaller batches",
        path="messages",
    )


def too_large(size: int, most: int) -> MessageTooLargeError:
    """Return the error for a unit of work that does not fit into one document."""
    return MessageTooLargeError(
        f"this takes {size} bytes and the database takes at most {most} in one document, which is "
        "what makes it all or nothing: append in smaller batches, or store large content elsewhere",
        path="messages",
    )

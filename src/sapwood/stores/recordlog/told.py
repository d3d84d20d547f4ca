"""What goes wrong, in words; each is said the same way wherever it is found."""

from __future__ import annotations

from ...errors import AlreadyExistsError, MessageTooLargeError, NotFoundError
from .stored import MOST_IN_A_RECORD


class BehindError(Exception):
    """What was read is newer than the state that it is read by: catch up, and begin again."""


def no_session(session: str) -> NotFoundError:
    """Say that a session is not there."""
    return NotFoundError(
        f"there is no session {session!r} for this owner: create it first",
        kind="session",
        id=session,
    )


def no_message(session: str, id: str) -> NotFoundError:
    """Say that a session does not see a message."""
    return NotFoundError(f"session {session!r} sees no message {id!r}", kind="message", id=id)


def no_overlay(session: str, id: str) -> NotFoundError:
    """Say that an overlay is not in force."""
    return NotFoundError(
        f"no overlay {id!r} is in force for session {session!r}", kind="overlay", id=id
    )


def session_exists(session: str) -> AlreadyExistsError:
    """Say that a session's id is taken."""
    return AlreadyExistsError(f"session {session!r} exists already: choose another id")


def too_many(count: int) -> MessageTooLargeError:
    """Say that a batch has too many messages."""
    return MessageTooLargeError(
        f"the batch has {count} messages and the limit is {MOST_IN_A_RECORD}: "
        "append in smaller batches",
        path="messages",
    )


def too_large(size: int, most: int) -> MessageTooLargeError:
    """Say that a unit of work does not fit into one document."""
    return MessageTooLargeError(
        f"this takes {size} bytes and the database takes at most {most} in one document, which is "
        "what makes it all or nothing: append in smaller batches, or store large content elsewhere",
        path="messages",
    )

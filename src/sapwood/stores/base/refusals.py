"""What several stores refuse, in the same words: each function returns the error to raise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...errors import (
    AlreadyExistsError,
    ClosedError,
    ConflictError,
    LeaseLostError,
    NotFoundError,
    SessionClosedError,
    StaleVersionError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
    UnsupportedOperationError,
    UsageError,
)
from ...model import EntryRef, Position, Root
from ...rules.codec import Packed


def no_data() -> UnsupportedOperationError:
    """Return the error for what needs data at positions."""
    return UnsupportedOperationError("this store keeps no data at positions: use another")


# What is not there


def no_session(session: str) -> NotFoundError:
    """Return the error for a session that is not there."""
    return NotFoundError(
        f"there is no session {session!r}: create it first", kind="session", id=session
    )


def no_message(session: str, id: str) -> NotFoundError:
    """Return the error for a message that a session does not see."""
    return NotFoundError(f"session {session!r} sees no message {id!r}", kind="message", id=id)


def no_position(session: str, at: Position) -> NotFoundError:
    """Return the error for a position that a session does not see."""
    return NotFoundError(
        f"session {session!r} sees no position {at.segment}.{at.depth}: begin from the beginning",
        kind="position",
        id=f"{at.segment}.{at.depth}",
    )


def no_overlay(session: str, id: str) -> NotFoundError:
    """Return the error for an overlay that is not in force."""
    return NotFoundError(
        f"no overlay {id!r} is in force for session {session!r}", kind="overlay", id=id
    )


# What is there already, or otherwise than the caller thought


def session_exists(session: str) -> AlreadyExistsError:
    """Return the error for a new session whose id is taken."""
    return AlreadyExistsError(
        f"session {session!r} exists already: open that one, or choose another id"
    )


def refuse_stale_session(session: str, found: int, expected: int | None) -> None:
    """Refuse a write to a session whose record was changed meanwhile."""
    if expected is not None and found != expected:
        raise StaleVersionError(
            f"session {session!r} is at version {found}, not {expected}: read it again, then decide"
        )


def renewed_until(key: str, expires_us: int | None, now: int, in_us: int) -> int:
    """Return until when a document is renewed, never less than it had; refuse one that stays."""
    if expires_us is None:
        raise ConflictError(f"document {key!r} does not expire: put it again to let it")
    return max(expires_us, now + in_us)


def stale_document(key: str, found: int | None, expected: int) -> StaleVersionError:
    """Return the error for a document at another version; `found` is None if there is none."""
    is_now = "not there" if found is None else f"at version {found}"
    return StaleVersionError(
        f"document {key!r} is {is_now}, not at version {expected}: read it again, then decide"
    )


def refuse_stale_data(found: Position | None, expected: Position | Root | None) -> None:
    """Refuse a write that was decided on another version of the data."""
    is_right = found is None if isinstance(expected, Root) else found == expected
    if expected is not None and not is_right:
        at = "not there" if found is None else f"at position {found.segment}.{found.depth}"
        raise StaleVersionError(
            f"the newest version of the data is {at} by now: read it again, then decide"
        )


def lease_lost(key: str, session: str) -> LeaseLostError:
    """Return the error for a write whose fence does not hold any more."""
    return LeaseLostError(
        f"the lease {key!r} of session {session!r} was taken over, released or cleared: "
        "nothing was written; take it again and begin anew"
    )


def session_closed(session: str) -> SessionClosedError:
    """Return the error for a write that a closed session does not take."""
    return SessionClosedError(
        f"session {session!r} is closed: reopen it, or go on in another session"
    )


def usage_conflict(id: str) -> ConflictError:
    """Return the error for a usage whose id was recorded with other figures."""
    return ConflictError(
        f"usage {id!r} is recorded with other figures: use a new id for another call"
    )


def edit_inherited(id: str) -> ConflictError:
    """Return the error for an edit of a message that another session wrote."""
    return ConflictError(
        f"message {id!r} is inherited: edit it through the session that wrote it, "
        "or append a new one"
    )


def delete_inherited(id: str, home: str) -> ConflictError:
    """Return the error for the deletion of a message that another session wrote."""
    return ConflictError(
        f"message {id!r} is inherited: delete it through session {home!r}, which wrote it"
    )


def path_full(most: int) -> StoreError:
    """Return the error for an append to a path that has no depth left."""
    return StoreError(f"a path holds at most {most} messages: fork it with detach=True")


@contextmanager
def in_doubt(batch: Sequence[Packed]) -> Iterator[None]:
    """Say of messages that they may have been sent before a server was out of reach."""
    try:
        yield
    except StoreUnavailableError as error:
        raise _in_doubt(error, batch) from error.__cause__


def _in_doubt(error: StoreUnavailableError, batch: Sequence[Packed]) -> StoreUnavailableError:
    first, last = batch[0].id, batch[-1].id
    what = (
        f"message {first!r} may have been stored: append it again under this id, and it is"
        if len(batch) == 1
        else f"the {len(batch)} messages from {first!r} to {last!r} may have been stored: append "
        "them again under the same ids, and they are"
    )
    return StoreUnavailableError(f"{error}; {what} stored once")


# Overlays


def overlay_exists(id: str) -> AlreadyExistsError:
    """Return the error for a new overlay whose id is taken in the tree."""
    return AlreadyExistsError(f"overlay {id!r} exists already in this tree: choose another id")


def range_order() -> UsageError:
    """Return the error for a range that ends before it begins."""
    return UsageError(
        "the first entry of the range comes after the last one: swap them", path="first"
    )


def not_shown(ref: EntryRef | None = None) -> ConflictError:
    """Return the error for a range one of whose ends, if known `ref`, is not shown at its leaf."""
    what = "an end of the range" if ref is None else f"{ref.kind} {ref.id!r}"
    return ConflictError(f"{what} is not shown at this leaf: read the history again, then decide")


def message_deleted(id: str) -> ConflictError:
    """Return the error for a range that would begin or end with a deleted message."""
    return ConflictError(f"message {id!r} was deleted, or is a mark: choose one that is shown")


def changed_since() -> ConflictError:
    """Return the error for what was made from messages that were changed after they were read."""
    return ConflictError(
        "a message that this was made from was edited or deleted since the snapshot: "
        "read the history again, then decide"
    )


def bad_snapshot(text: str) -> UsageError:
    """Return the error for a text that no history of this store has for its snapshot."""
    return UsageError(f"{text!r} is not a history's snapshot", path="snapshot")


def bad_pins(session: str) -> StoreCorruptError:
    """Return the error for a document of pins that cannot be read as such."""
    return StoreCorruptError(
        f"the document 'pins' of session {session!r} is not a JSON list of message ids: "
        "put it again"
    )


# Cursors


def bad_listing_cursor(cursor: object) -> UsageError:
    """Return the error for what is no cursor of this listing."""
    return UsageError(
        f"{cursor!r} is not a cursor of this listing: use the one that the last page gave",
        path="cursor",
    )


def bad_feed_cursor(cursor: object) -> UsageError:
    """Return the error for what is no cursor of this feed."""
    return UsageError(f"{cursor!r} is not a cursor of this feed", path="after")


def feed_trimmed(cursor: object) -> NotFoundError:
    """Return the error for a cursor after which changes are missing."""
    return NotFoundError(
        f"the feed was trimmed after the cursor {str(cursor)!r}: read everything, then go on from "
        "the feed's beginning, and name a reader, for whom it is kept",
        kind="cursor",
        id=str(cursor),
    )


def cursor_ahead(cursor: object) -> NotFoundError:
    """Return the error for a cursor behind all that the feed has.

    It is not taken for the end: what is recorded from now on would be passed by, up to there.
    """
    return NotFoundError(
        f"the feed has not come to the cursor {str(cursor)!r}, which is from another store, or "
        "from before this one was restored: read everything, then go on from the feed's beginning",
        kind="cursor",
        id=str(cursor),
    )


# The store itself, and what it was opened with. `where` names it, if an address does.


def store_closed(where: str = "") -> ClosedError:
    """Return the error for a call of a store that is closed."""
    return ClosedError(_at(where, "the store is closed: open a new one"))


def pool_exhausted(where: str = "") -> StoreBusyError:
    """Return the error for a call that waited too long for a connection."""
    return StoreBusyError(_at(where, "no connection of the pool became free in time: try again"))


def other_loop(where: str) -> UsageError:
    """Return the error for a client that is used on an event loop it does not belong to."""
    return UsageError(
        _at(where, "a client is of the event loop that it was first used on: open a store for each")
    )


def url_or_client() -> UsageError:
    """Return the error for a store that was given both or neither."""
    return UsageError("give a URL or a client", path="url")


def _at(where: str, what: str) -> str:
    return f"{where}: {what}" if where else what

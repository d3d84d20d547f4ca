"""Changes as the feed tells them, and the cursors after which its readers go on."""

from __future__ import annotations

from ...model import Change
from ..base.refusals import bad_feed_cursor
from .position import public
from .rows import CHANGE_KINDS

FeedCursor = tuple[int, ...]
"""The numbers after which a reader goes on; how many there are is a store's own."""


def read_feed_cursor(text: str, beginning: FeedCursor) -> FeedCursor:
    """Return the cursor that a text stands for; the empty one is the beginning."""
    parts = text.split(".") if text else [str(number) for number in beginning]
    are_numbers = all(it.isascii() and it.isdigit() and len(it) <= 18 for it in parts)
    if not (are_numbers and len(parts) == len(beginning)):
        raise bad_feed_cursor(text)
    return tuple(map(int, parts))


def feed_cursor_text(cursor: FeedCursor) -> str:
    """Return a cursor as users are given it."""
    return ".".join(map(str, cursor))


def change_of(
    kind: int, session: str, id: str, tree: int, pos: int, version: int, at: int
) -> Change:
    """Return the change of a message."""
    return Change(
        kind=CHANGE_KINDS[kind],
        session=session,
        message=id,
        tree=str(tree),
        position=public(pos),
        version=version,
        at_us=at,
    )


def record_change_of(kind: int, session: str, tree: int | None, version: int, at: int) -> Change:
    """Return the change of a session's record; one that is retired may be told without its tree."""
    return Change(
        kind=CHANGE_KINDS[kind],
        session=session,
        message=None,
        tree="" if tree is None else str(tree),
        position=None,
        version=version,
        at_us=at,
    )

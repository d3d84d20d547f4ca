"""Changes as tables hold them, and as users are told of them."""

from __future__ import annotations

from ...model import Change, ChangeKind
from ..base.refusals import bad_feed_cursor
from .position import MAX_DEPTH

KEPT_AT_LEAST_US = 24 * 3600 * 1_000_000
"""How long a change is kept, whoever has seen it."""
CHANGE_KINDS = {
    1: ChangeKind.APPEND,
    2: ChangeKind.UPDATE,
    3: ChangeKind.DELETE,
    4: ChangeKind.RETIRE,
}
FeedCursor = tuple[int, ...]
"""The numbers after which a reader goes on; how many there are is a store's own."""


def read_cursor(text: str, beginning: FeedCursor) -> FeedCursor:
    """Return the cursor that a text stands for; the empty one is the beginning."""
    parts = text.split(".") if text else [str(number) for number in beginning]
    are_numbers = all(it.isascii() and it.isdigit() and len(it) <= 18 for it in parts)
    if not (are_numbers and len(parts) == len(beginning)):
        raise bad_feed_cursor(text)
    return tuple(map(int, parts))


def cursor_text(cursor: FeedCursor) -> str:
    """Return a cursor as users are given it."""
    return ".".join(map(str, cursor))


def change_of(kind: int, session: str, id: str, pos: int, at: int) -> Change:
    """Return the change of a message."""
    depth = pos & MAX_DEPTH
    return Change(kind=CHANGE_KINDS[kind], session=session, message=id, depth=depth, at_us=at)


def retirement(session: str, at: int) -> Change:
    """Return the change that takes all of a session's messages out of use."""
    return Change(kind=ChangeKind.RETIRE, session=session, message=None, depth=None, at_us=at)

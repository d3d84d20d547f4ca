"""A cursor of the change feed that lies behind all that the feed has."""

from __future__ import annotations

from ..errors import NotFoundError


def cursor_ahead(cursor: object) -> NotFoundError:
    """Refuse it: what is recorded from now on would be passed by, up to there."""
    return NotFoundError(
        f"the feed has not come to the cursor {str(cursor)!r}, which is from another store, or "
        "from before this one was restored: read everything, then go on from the feed's beginning",
        kind="cursor",
        id=str(cursor),
    )

"""Pages of owners, for stores that do not know which of them changed."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import ChangedOwners


def next_owners(owners: Iterable[str], after: str, limit: int) -> ChangedOwners:
    """Return the owners after a cursor, a name; behind the last of them it goes on at the first."""
    left = sorted(name for name in owners if name > after)
    page, more = left[:limit], len(left) > limit
    return ChangedOwners(owners=page, cursor=page[-1] if more else "", more=more)

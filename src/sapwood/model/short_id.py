"""Ids as people read them."""

from __future__ import annotations

import re

# The fourteen digits that say when one of ours was made are no other's of the same program. Of a
# UUID, three groups: in the newer kinds they tell those of one millisecond apart.
_MADE = re.compile(
    "([0-9a-f]{14})(?:[0-9a-f]{16}|[0-9a-f]{18})"
    "|([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4})-[0-9a-f]{4}-[0-9a-f]{12}"
).fullmatch


def short(id: str) -> str:
    """Return the beginning of an id that a program made, and any other whole."""
    made = _MADE(id)
    return id if made is None else made[1] or made[2]

"""What a listing asks for, as far as all databases compare it alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...model import SessionQuery, microseconds_of
from ...rules.system import KEY_BYTES, key_digest
from ..base.refusals import bad_listing_cursor

OWNER_BYTES = 8


class ColumnFilter(NamedTuple):
    """A column of a session or of its profile, compared with a value."""

    table: str
    column: str
    sign: str
    value: str | int | bytes

    @property
    def text(self) -> str:
        """The comparison, up to its value, in a statement that names tables by one letter."""
        return f" AND {self.table[0]}.{self.column} {self.sign} "


def indexed_key(owner: int, key: Sequence[str]) -> bytes:
    """Return what an owner's sessions are found by whose key is this, or begins so."""
    return owner.to_bytes(OWNER_BYTES) + key_digest(key)


def filters(owner: int, query: SessionQuery) -> list[ColumnFilter]:
    """Return the columns that a query of an owner's sessions compares."""
    texts = (
        ("session", "kind", query.kind),
        ("profile", "state", query.state),
        ("profile", "parent", query.parent),
    )
    moments = (
        ("created_at", ">=", query.created_from),
        ("created_at", "<", query.created_until),
        ("active_at", ">=", query.active_from),
        ("active_at", "<", query.active_until),
    )
    keys: list[ColumnFilter] = []
    if query.key:
        low = indexed_key(owner, query.key)
        bounds = ((">=", low), ("<=", low.ljust(OWNER_BYTES + KEY_BYTES, b"\xff")))
        keys = [ColumnFilter("profile", "system_key", sign, end) for sign, end in bounds]
    named = [ColumnFilter(table, key, "=", it) for table, key, it in texts if it is not None]
    return (
        keys
        + named
        + [
            ColumnFilter("session", key, sign, microseconds_of(moment))
            for key, sign, moment in moments
            if moment is not None
        ]
    )


def parse_cursor(cursor: str) -> tuple[int, int]:
    """Return the second and the number of the last session of a page."""
    active_s, _, number = cursor.partition(".")
    is_short = max(len(active_s), len(number)) <= 18
    if not (is_short and cursor.isascii() and active_s.isdigit() and number.isdigit()):
        raise bad_listing_cursor(cursor)
    return int(active_s), int(number)

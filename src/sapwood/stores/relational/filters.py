"""What a listing asks for, as far as all databases compare it alike."""

from __future__ import annotations

from typing import NamedTuple

from ...model import SessionQuery, microseconds_of


class ColumnFilter(NamedTuple):
    """A column of a session or of its profile, compared with a value."""

    table: str
    column: str
    sign: str
    value: str | int

    @property
    def text(self) -> str:
        """The comparison, up to its value, in a statement that names tables by one letter."""
        return f" AND {self.table[0]}.{self.column} {self.sign} "


def filters(query: SessionQuery) -> list[ColumnFilter]:
    """Return the columns that a query compares."""
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
    return [ColumnFilter(table, key, "=", it) for table, key, it in texts if it is not None] + [
        ColumnFilter("session", key, sign, microseconds_of(moment))
        for key, sign, moment in moments
        if moment is not None
    ]

"""How the rows of a read come: what a driver spends on them is spent on each column.

MariaDB's drivers are written in Python and take every value apart by itself. For them the figures
and names of a row are one column, which is as fast as a driver by hand that reads the half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import cast, func, literal_column, type_coerce
from sqlalchemy.types import LargeBinary, NullType

_MARK = b"\x1f"
"""Stands between the values of a row: no name has a control character."""


class Plain:
    """Each value is a column."""

    def columns(self, values: Sequence[Any], body: Any, *, is_full: bool) -> list[Any]:
        """Give the columns of a row: numbers, names, and a body."""
        return [*values, type_coerce(body, NullType())]

    def read(self, row: Any) -> Sequence[Any]:
        """Give the values of a row."""
        found: Sequence[Any] = row[:-1]
        return found


class Packed:
    """The values are one column."""

    def columns(self, values: Sequence[Any], body: Any, *, is_full: bool) -> list[Any]:
        """Give the columns of a row: numbers, names, and a body."""
        # What is nothing would be left out, and not be an empty text.
        given = values if is_full else [func.coalesce(it, literal_column("''")) for it in values]
        packed = func.concat_ws(literal_column("0x1f"), *given)
        return [
            type_coerce(cast(packed, LargeBinary), NullType()).label("packed"),
            type_coerce(body, NullType()).label("body"),
        ]

    def read(self, row: Any) -> Sequence[Any]:
        """Give the values of a row."""
        first, second, third, fourth, *names = row[0].split(_MARK)
        return (
            int(first) if first else None,
            int(second) if second else None,
            int(third) if third else None,
            int(fourth) if fourth else None,
            *[name.decode() or None for name in names],
        )


_PLAIN, _PACKED = Plain(), Packed()


def shape_of(kind: str) -> Plain | Packed:
    """Give the shape of rows that a kind of database is read in."""
    return _PACKED if kind == "mysql" else _PLAIN

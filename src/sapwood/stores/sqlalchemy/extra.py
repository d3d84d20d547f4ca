"""Filling columns of the user's own when a row is added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class NewRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is about to be added; what is not known of it is None."""

    table: str
    """Our name of its table: `session`, `message`, `document` ..."""
    owner: str | None
    session: str | None
    id: str | None


Extra = Callable[[NewRow], Mapping[str, Any]]
"""Gives the values of a new row's extra columns, by their names in the database."""

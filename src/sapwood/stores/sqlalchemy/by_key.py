"""Statements on the rows of one table that have given values in some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, delete, select, update

from .tables import Tables
from .tx import Statement


def select_by(table: str, *keys: str, of: Sequence[str]) -> Statement:
    """Return the query of some columns; a value is given by its column's name."""
    return lambda t: select(*(t.of(table).c[key] for key in of)).where(*_are(t, table, keys))


def delete_by(table: str, *keys: str) -> Statement:
    """Return the statement that deletes rows; a value is given by its column's name."""
    return lambda t: delete(t.of(table)).where(*_are(t, table, keys))


def update_by(table: str, *keys: str) -> Statement:
    """Return the statement that changes rows: what is found by has `of_` before its name."""
    return lambda t: update(t.of(table)).where(*_are(t, table, keys, "of_"))


def _are(t: Tables, table: str, keys: Sequence[str], prefix: str = "") -> list[Any]:
    return [t.of(table).c[key] == bindparam(prefix + key) for key in keys]

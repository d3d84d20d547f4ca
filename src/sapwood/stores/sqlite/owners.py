"""Owners and their numbers."""

from __future__ import annotations

from .connection import Connection


def find_owner(tx: Connection, name: str) -> int | None:
    """Find an owner's number."""
    found: int | None = tx.value("SELECT number FROM owner WHERE name = ?", (name,))
    return found


def own_number(tx: Connection, name: str) -> int:
    """Give an owner's number, a new one if there was none."""
    found = find_owner(tx, name)
    if found is None:
        found = tx.value("INSERT INTO owner (name) VALUES (?) RETURNING number", (name,))
        assert found is not None
    return found

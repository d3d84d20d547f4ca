"""Owners and their numbers."""

from __future__ import annotations

from .connection import Connection


def find_owner(tx: Connection, name: str) -> int | None:
    """Find an owner's number."""
    found: int | None = tx.value("SELECT number FROM owner WHERE name = ?", (name,))
    return found


def own_number(tx: Connection, name: str) -> int:
    """Return an owner's number, a new one if there was none."""
    insert = "INSERT INTO owner (name) VALUES (?) RETURNING number"
    number: int = find_owner(tx, name) or tx.value(insert, (name,))
    return number

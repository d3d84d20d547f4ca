"""Work on documents. A row's key is its version, so replacing one gives it a new version."""

from __future__ import annotations

from typing import Any

from ...errors import StaleVersionError, StoreCorruptError
from ...model import Document
from .checksum import checksum
from .connection import Connection
from .erasure import note_erasure_apart
from .lookup import SessionRow, get_session
from .owners import find_owner, own_number
from .sums import renew_context
from .view import PINS_KEY

KEPT_EXPIRED_US = 24 * 3600 * 1_000_000
"""Whoever held a lease may still write, and renew it, while nobody else has taken it."""
DOCUMENTS_IN_A_CHUNK = 100

DOCUMENT_COLUMNS = "version, key, updated_at, expires_at, value, checksum"
_FIND = f"SELECT {DOCUMENT_COLUMNS} FROM document WHERE owner = ? AND session = ? AND key = ?"


class SqliteDocuments:
    """Work on documents."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx

    def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document that has not expired."""
        number, row = self._scope(owner, session)
        found = self._tx.row(_FIND, (number, row.number if row else 0, key))
        return None if found is None or self._is_expired(found) else document_of(found)

    def put(
        self,
        owner: str,
        session: str | None,
        key: str,
        value: bytes,
        expected_version: int | None,
        expires_in_us: int | None,
    ) -> Document:
        """Create or replace a document."""
        _, row = self._scope(owner, session)
        number, scope = own_number(self._tx, owner), row.number if row else 0
        found = self._tx.row(_FIND, (number, scope, key))
        self._refuse_stale(found, key, expected_version)
        now = self._tx.clock()
        expires_at = None if expires_in_us is None else now + expires_in_us
        if found is not None:
            self._tx.run("DELETE FROM document WHERE version = ?", (found[0],))
        stored = self._tx.row(
            "INSERT INTO document (owner, session, key, updated_at, expires_at, value, checksum)"
            f" VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING {DOCUMENT_COLUMNS}",
            (number, scope, key, now, expires_at, value, checksum((key, now, value))),
        )
        self._renew_if_pins(row, key)
        return document_of(stored)

    def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; an expired one counts as not there."""
        number, row = self._scope(owner, session)
        found = self._tx.row(_FIND, (number, row.number if row else 0, key))
        if expected_version is not None and (found is None or found[0] != expected_version):
            raise _stale(key, found, expected_version)
        if found is None:
            return False
        self._tx.run("DELETE FROM document WHERE version = ?", (found[0],))
        if row is None:
            note_erasure_apart(self._tx)
        self._renew_if_pins(row, key)
        return not self._is_expired(found)

    def list_prefix(self, owner: str, session: str | None, prefix: str) -> list[Document]:
        """List documents by key."""
        number, row = self._scope(owner, session)
        rows = self._tx.rows(
            f"SELECT {DOCUMENT_COLUMNS} FROM document"
            " WHERE owner = ?1 AND session = ?2 AND key >= ?3"
            " AND substr(key, 1, length(?3)) = ?3 ORDER BY key",
            (number, row.number if row else 0, prefix),
        )
        return [document_of(found) for found in rows if not self._is_expired(found)]

    def _scope(self, owner: str, session: str | None) -> tuple[int | None, SessionRow | None]:
        if session is None:
            return find_owner(self._tx, owner), None
        row = get_session(self._tx, owner, session)
        return row.owner, row

    def _is_expired(self, found: tuple[Any, ...]) -> bool:
        return found[3] is not None and found[3] <= self._tx.clock()

    def _refuse_stale(
        self, found: tuple[Any, ...] | None, key: str, expected_version: int | None
    ) -> None:
        if expected_version is None:
            return
        is_free = expected_version == 0 and (found is None or self._is_expired(found))
        if not is_free and (found is None or found[0] != expected_version):
            raise _stale(key, found, expected_version)

    def _renew_if_pins(self, row: SessionRow | None, key: str) -> None:
        if row is not None and key == PINS_KEY and row.overlays:
            renew_context(self._tx, row)


class ExpiredDocuments:
    """Removes what expired long ago, a few rows at a time, so that writers are not held up."""

    def __init__(self) -> None:
        self._seen = 0

    def drop_some(self, tx: Connection) -> bool:
        """Go on by a bounded number of documents; tell whether there may be more."""
        rows = tx.rows(
            "SELECT version, expires_at FROM document WHERE version > ? ORDER BY version LIMIT ?",
            (self._seen, DOCUMENTS_IN_A_CHUNK),
        )
        until = tx.clock() - KEPT_EXPIRED_US
        gone = [(version,) for version, at in rows if at is not None and at <= until]
        if gone:
            tx.run_many("DELETE FROM document WHERE version = ?", gone)
            note_erasure_apart(tx)
        if rows:
            self._seen = rows[-1][0]
        return len(rows) == DOCUMENTS_IN_A_CHUNK


def _stale(key: str, found: tuple[Any, ...] | None, expected: int) -> StaleVersionError:
    is_now = "not there" if found is None else f"at version {found[0]}"
    return StaleVersionError(
        f"document {key!r} is {is_now}, and version {expected} was expected: "
        "read it again, then decide"
    )


def document_of(row: tuple[Any, ...]) -> Document:
    """Make a document of its row."""
    version, key, updated_at, expires_at, value, kept = row
    if checksum((key, updated_at, value)) != kept:
        raise StoreCorruptError(
            f"document {key!r} is not as it was written: put it again, or take it from a backup"
        )
    return Document(
        key=key, value=value, version=version, updated_us=updated_at, expires_us=expires_at
    )

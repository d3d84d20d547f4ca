"""Statements about documents. A row's key is its version: each put has a new one."""

from __future__ import annotations

from ...errors import StoreCorruptError
from ...model import Document
from ...rules.key_range import KeyRange
from ..base.extras import DocumentWrite
from ..relational._sync.documents import DocumentStatements
from ..relational.rows import (
    DOCUMENT_KEY,
    DOCUMENT_UPDATED_AT,
    DOCUMENT_VERSION,
    DocumentScope,
    Row,
    created_before,
)
from ..relational.rows import document_of as relational_document_of
from .checksum import checksum
from .connection import Connection
from .feed import note_erasure_apart

KEPT_EXPIRED_US = 24 * 3600 * 1_000_000
"""Whoever held a lease may still write, and renew it, while nobody else has taken it."""
DOCUMENTS_IN_A_CHUNK = 100

DOCUMENT_COLUMNS = "version, key, updated_at, expires_at, value, inherit, created_at, checksum"
FIND_DOCUMENT = (
    f"SELECT {DOCUMENT_COLUMNS} FROM document WHERE owner = ? AND session = ? AND key = ?"
)
# In place of the one with this key: which is deleted, and its version not used again.
_PUT = (
    "REPLACE INTO document"
    " (owner, session, key, updated_at, expires_at, value, checksum, inherit, created_at)"
    f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING {DOCUMENT_COLUMNS}"
)
_RENEW = f"UPDATE document SET expires_at = ? WHERE version = ? RETURNING {DOCUMENT_COLUMNS}"
_REWRITE = "UPDATE document SET value = ?2, checksum = ?3 WHERE version = ?1"
_IN_RANGE = (
    " FROM document WHERE owner = ?1 AND session = ?2 AND key >= ?3 AND (?4 OR key > ?3)"
    " AND key < ?5 AND (expires_at IS NULL OR expires_at > ?6) ORDER BY key"
)
_WITHOUT_VALUES = "SELECT version, key, updated_at, expires_at, x'', inherit, created_at"
_NO_LIMIT = -1


class SqliteDocumentStatements(DocumentStatements[Connection]):
    """Statements about documents. There is one writer at a time: nothing is locked."""

    def find(self, scope: DocumentScope, key: str) -> Row | None:
        found: Row | None = self._tx.row(FIND_DOCUMENT, (*scope, key))
        return found

    def put(
        self, scope: DocumentScope, new: DocumentWrite, value: bytes, replaced: Row | None
    ) -> Row:
        now = self._tx.clock()
        expires_at = None if new.expires_in_us is None else now + new.expires_in_us
        kept = checksum((new.key, now, value))
        content = (new.key, now, expires_at, value, kept, int(new.inherit))
        created_at = created_before(replaced, now)
        stored: Row = self._tx.row(_PUT, (*scope, *content, created_at))
        return stored

    def renew(self, scope: DocumentScope, found: Row, expires_at: int) -> Row:
        renewed: Row = self._tx.row(_RENEW, (expires_at, found[DOCUMENT_VERSION]))
        return renewed

    def rewrite(self, scope: DocumentScope, found: Row, value: bytes) -> None:
        kept = checksum((found[DOCUMENT_KEY], found[DOCUMENT_UPDATED_AT], value))
        self._tx.run(_REWRITE, (found[DOCUMENT_VERSION], value, kept))

    def delete(self, scope: DocumentScope, found: Row) -> None:
        self._tx.run("DELETE FROM document WHERE version = ?", (found[DOCUMENT_VERSION],))
        if not scope.session:
            note_erasure_apart(self._tx)

    def list_range(
        self, scope: DocumentScope, asked: KeyRange, now: int, values: bool
    ) -> list[Row]:
        select = f"SELECT {DOCUMENT_COLUMNS}" if values else _WITHOUT_VALUES
        sql = f"{select}{_IN_RANGE}{' DESC' if asked.reverse else ''} LIMIT ?7"
        limit = _NO_LIMIT if asked.limit is None else asked.limit
        return self._tx.rows(sql, (*scope, *asked.bounds(), now, limit))

    def document_of(self, row: Row) -> Document:
        return document_of(row)


class ExpiredDocuments:
    """Removes what expired long ago, a few rows at a time, so that writers are not held up."""

    def __init__(self) -> None:
        self._seen = 0

    def drop_some(self, tx: Connection) -> bool:
        """Go on by a bounded number of documents; return whether there may be more."""
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


def document_of(row: Row) -> Document:
    """Return the document of a row; one that is not as it was written is an error."""
    *content, kept = row
    _, key, updated_at, _, value, *_ = content
    if checksum((key, updated_at, value)) != kept:
        raise StoreCorruptError(
            f"document {key!r} is not as it was written: put it again, or take it from a backup"
        )
    return relational_document_of(tuple(content))

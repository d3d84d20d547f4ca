"""Statements about documents. Versions come from one sequence, taken under a lock: they rise."""

from __future__ import annotations

from ....model import Document
from ...relational._async.documents import AsyncDocumentStatements
from ...relational.rows import DOCUMENT_KEY, DocumentScope, Row, SessionRow, document_of
from .lookup import find_owner, own_number
from .tx import AsyncTx

_COLUMNS = "version, key, updated_at, expires_at, value"
_FIND = f"SELECT {_COLUMNS} FROM {{s}}.document WHERE tree = %s AND session = %s AND key = %s"
_PUT = (
    "INSERT INTO {s}.document (tree, session, key, version, updated_at, expires_at, value)"
    " VALUES (%s, %s, %s, nextval('{s}.document_version'), %s, %s, %s)"
    " ON CONFLICT (tree, session, key) DO UPDATE SET version = excluded.version,"
    " updated_at = excluded.updated_at, expires_at = excluded.expires_at, value = excluded.value"
    f" RETURNING {_COLUMNS}"
)
_DELETE = "DELETE FROM {s}.document WHERE tree = %s AND session = %s AND key = %s"
_LIST = (
    f"SELECT {_COLUMNS} FROM {{s}}.document WHERE tree = %s AND session = %s"
    " AND starts_with(key, %s) AND (expires_at IS NULL OR expires_at > %s) ORDER BY key"
)


class AsyncPostgresDocumentStatements(AsyncDocumentStatements[AsyncTx]):
    """Statements about documents; an owner's own are placed in a tree below zero."""

    def scope_of(self, session: SessionRow) -> DocumentScope:
        return DocumentScope(session.tree, session.number)

    async def find_scope(self, owner: str) -> DocumentScope:
        if self._tx.locks:
            return await self.own_scope(owner)
        number = await find_owner(self._tx, owner)
        return DocumentScope(None if number is None else -number, 0)

    async def own_scope(self, owner: str) -> DocumentScope:
        number = await own_number(self._tx, owner)
        await self._tx.run("SELECT {s}.lock_owner(%s)", (number,))
        return DocumentScope(-number, 0)

    async def find(self, scope: DocumentScope, key: str) -> Row | None:
        found: Row | None = await self._tx.row(_FIND, (*scope, key))
        return found

    async def lock(self, scope: DocumentScope, key: str) -> Row | None:
        # Its tree, or its owner, is locked already.
        return await self.find(scope, key)

    async def put(
        self,
        scope: DocumentScope,
        key: str,
        value: bytes,
        expires_in_us: int | None,
        replaced: Row | None,
    ) -> Row:
        now = await self._tx.now()
        expires_at = None if expires_in_us is None else now + expires_in_us
        stored: Row = await self._tx.row(_PUT, (*scope, key, now, expires_at, value))
        return stored

    async def delete(self, scope: DocumentScope, found: Row) -> None:
        await self._tx.run(_DELETE, (*scope, found[DOCUMENT_KEY]))

    async def list_prefix(self, scope: DocumentScope, prefix: str, now: int) -> list[Row]:
        return await self._tx.rows(_LIST, (*scope, prefix, now))

    def document_of(self, row: Row) -> Document:
        return document_of(row)

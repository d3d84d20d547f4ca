"""Statements about documents. Versions come from one sequence, taken under a lock: they rise."""

from __future__ import annotations

from ....rules.key_range import KeyRange
from ...base.extras import DocumentWrite
from ...relational._async.documents import AsyncDocumentStatements
from ...relational.rows import DOCUMENT_KEY, DocumentScope, Row, SessionRow, created_before
from .tx import AsyncTx

_COLUMNS = "version, key, updated_at, expires_at, value, inherit, created_at"
_FIND = f"SELECT {_COLUMNS} FROM {{s}}.document WHERE tree = %s AND session = %s AND key = %s"
_PUT = (
    "INSERT INTO {s}.document"
    " (tree, session, key, version, updated_at, expires_at, value, inherit, created_at)"
    " VALUES (%s, %s, %s, nextval('{s}.document_version'), %s, %s, %s, %s, %s)"
    " ON CONFLICT (tree, session, key) DO UPDATE SET version = excluded.version,"
    " updated_at = excluded.updated_at, expires_at = excluded.expires_at, value = excluded.value,"
    " inherit = excluded.inherit, created_at = excluded.created_at"
    f" RETURNING {_COLUMNS}"
)
_RENEW = (
    "UPDATE {s}.document SET expires_at = %s WHERE tree = %s AND session = %s AND key = %s"
    f" RETURNING {_COLUMNS}"
)
_REWRITE = "UPDATE {s}.document SET value = %s WHERE tree = %s AND session = %s AND key = %s"
_DELETE = "DELETE FROM {s}.document WHERE tree = %s AND session = %s AND key = %s"
_IN_RANGE = (
    " FROM {s}.document WHERE tree = %s AND session = %s AND key >= %s"
    " AND (%s::boolean OR key > %s) AND key < %s AND (expires_at IS NULL OR expires_at > %s)"
    " ORDER BY key"
)
_WITHOUT_VALUES = "version, key, updated_at, expires_at, ''::bytea, inherit, created_at"


class AsyncPostgresDocumentStatements(AsyncDocumentStatements[AsyncTx]):
    """Statements about documents; an owner's own are placed in a tree below zero.

    Before one is locked, its tree is, or its owner.
    """

    def scope_of(self, session: SessionRow) -> DocumentScope:
        return DocumentScope(session.tree, session.number)

    async def owner_scope(self, owner: int | None) -> DocumentScope:
        if owner is None:
            return DocumentScope(None, 0)
        if self._tx.locks:
            await self._tx.run("SELECT {s}.lock_owner(%s)", (owner,))
        return DocumentScope(-owner, 0)

    async def find(self, scope: DocumentScope, key: str) -> Row | None:
        found: Row | None = await self._tx.row(_FIND, (*scope, key))
        return found

    async def put(
        self, scope: DocumentScope, new: DocumentWrite, value: bytes, replaced: Row | None
    ) -> Row:
        now = await self._tx.now()
        expires_at = None if new.expires_in_us is None else now + new.expires_in_us
        content = (new.key, now, expires_at, value, new.inherit, created_before(replaced, now))
        stored: Row = await self._tx.row(_PUT, (*scope, *content))
        return stored

    async def renew(self, scope: DocumentScope, found: Row, expires_at: int) -> Row:
        renewed: Row = await self._tx.row(_RENEW, (expires_at, *scope, found[DOCUMENT_KEY]))
        return renewed

    async def rewrite(self, scope: DocumentScope, found: Row, value: bytes) -> None:
        await self._tx.run(_REWRITE, (value, *scope, found[DOCUMENT_KEY]))

    async def delete(self, scope: DocumentScope, found: Row) -> None:
        await self._tx.run(_DELETE, (*scope, found[DOCUMENT_KEY]))

    async def list_range(
        self, scope: DocumentScope, asked: KeyRange, now: int, values: bool
    ) -> list[Row]:
        low, is_included, high = asked.bounds()
        columns = _COLUMNS if values else _WITHOUT_VALUES
        text = f"SELECT {columns}{_IN_RANGE}{' DESC' if asked.reverse else ''} LIMIT %s"
        args = (*scope, low, is_included, low, high, now, asked.limit)
        return await self._tx.rows(text, args)

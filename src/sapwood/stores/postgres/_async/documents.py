"""Work on documents. Versions come from one sequence, taken under a lock, so that they rise."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....errors import StaleVersionError
from ....model import Document
from ..rows import SessionRow
from .lookup import find_owner, get_session, own_number
from .sums import PINS_KEY, renew_context
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


class _Scope(NamedTuple):
    """Whose a document is: a session's, or an owner's, which is placed below zero."""

    tree: int | None
    session: int
    row: SessionRow | None

    @property
    def place(self) -> tuple[int | None, int]:
        """The first columns of its key."""
        return self.tree, self.session


def _scope_of(row: SessionRow) -> _Scope:
    return _Scope(row.tree, row.number, row)


class AsyncPostgresDocuments:
    """Work on documents."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document that has not expired."""
        scope = await self._scope(owner, session)
        found = await self._tx.row(_FIND, (*scope.place, key))
        return None if found is None or await self._is_expired(found) else _document(found)

    async def put(
        self,
        owner: str,
        session: str | None,
        key: str,
        value: bytes,
        expected_version: int | None,
        expires_in_us: int | None,
    ) -> Document:
        """Create or replace a document."""
        scope = await self._locked_scope(owner, session)
        found = await self._tx.row(_FIND, (*scope.place, key))
        await self._refuse_stale(found, key, expected_version)
        now = await self._tx.now()
        expires_at = None if expires_in_us is None else now + expires_in_us
        stored = await self._tx.row(_PUT, (*scope.place, key, now, expires_at, value))
        await self._renew_if_pins(scope.row, key)
        return _document(stored)

    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; an expired one counts as not there."""
        scope = await self._locked_scope(owner, session)
        found = await self._tx.row(_FIND, (*scope.place, key))
        if expected_version is not None and (found is None or found[0] != expected_version):
            raise _stale(key, found, expected_version)
        if found is None:
            return False
        await self._tx.run(_DELETE, (*scope.place, key))
        await self._renew_if_pins(scope.row, key)
        return not await self._is_expired(found)

    async def list_prefix(self, owner: str, session: str | None, prefix: str) -> list[Document]:
        """List documents by key."""
        scope = await self._scope(owner, session)
        args = (*scope.place, prefix, await self._tx.now())
        return [_document(found) for found in await self._tx.rows(_LIST, args)]

    async def _scope(self, owner: str, session: str | None) -> _Scope:
        if session is not None:
            return _scope_of(await get_session(self._tx, owner, session))
        number = await find_owner(self._tx, owner)
        return _Scope(None if number is None else -number, 0, None)

    async def _locked_scope(self, owner: str, session: str | None) -> _Scope:
        """Find whose a document is, locked against others that would write it."""
        if session is not None:
            return _scope_of(await get_session(self._tx, owner, session))
        number = await own_number(self._tx, owner)
        await self._tx.run("SELECT {s}.lock_owner(%s)", (number,))
        return _Scope(-number, 0, None)

    async def _is_expired(self, found: tuple[Any, ...]) -> bool:
        return found[3] is not None and found[3] <= await self._tx.now()

    async def _refuse_stale(
        self, found: tuple[Any, ...] | None, key: str, expected_version: int | None
    ) -> None:
        if expected_version is None:
            return
        is_free = expected_version == 0 and (found is None or await self._is_expired(found))
        if not is_free and (found is None or found[0] != expected_version):
            raise _stale(key, found, expected_version)

    async def _renew_if_pins(self, row: SessionRow | None, key: str) -> None:
        if row is not None and key == PINS_KEY and row.overlays:
            await renew_context(self._tx, row)


def _stale(key: str, found: tuple[Any, ...] | None, expected: int) -> StaleVersionError:
    is_now = "not there" if found is None else f"at version {found[0]}"
    return StaleVersionError(
        f"document {key!r} is {is_now}, and version {expected} was expected: "
        "read it again, then decide"
    )


def _document(row: tuple[Any, ...]) -> Document:
    version, key, updated_at, expires_at, value = row
    return Document(
        key=key, value=value, version=version, updated_us=updated_at, expires_us=expires_at
    )

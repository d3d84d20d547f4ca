"""Work on documents. A row's key is its version, so replacing one gives it a new version."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, delete, func, or_, select

from ...errors import StaleVersionError
from ...model import Document
from .lookup import find_owner, get_session, own_number
from .rows import SessionRow
from .sums import renew_context
from .tables import Tables
from .tx import Row, Tx
from .view import PINS_KEY


class SqlDocuments:
    """Work on documents."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document that has not expired."""
        number, row = self._scope(owner, session)
        found = self._tx.row(_find, owner=number, session=row.number if row else 0, key=key)
        return None if found is None or self._is_expired(found) else _document(found)

    def put(
        self,
        owner: str,
        session: str | None,
        key: str,
        value: bytes,
        expected_version: int | None,
        expires_in_us: int | None,
    ) -> Document:
        """Create or replace a document.

        Two that create the same one at once are told apart by its key: one is done again.
        """
        number, row = self._writing_scope(owner, session)
        scope = row.number if row else 0
        found = self._tx.row(_lock, owner=number, session=scope, key=key)
        self._refuse_stale(found, key, expected_version)
        now = self._tx.now()
        stored = {
            "key": key,
            "updated_at": now,
            "expires_at": None if expires_in_us is None else now + expires_in_us,
            "value": value,
        }
        if found is not None:
            self._tx.run(_delete, version=found[0])
        version = self._tx.add("document", owner=number, session=scope, **stored)
        self._renew_if_pins(row, key)
        return _document((version, *stored.values()))

    def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; an expired one counts as not there."""
        number, row = self._scope(owner, session)
        scope = row.number if row else 0
        found = self._lock(number, scope, key)
        if expected_version is not None and (found is None or found[0] != expected_version):
            raise _stale(key, found, expected_version)
        if found is None:
            return False
        self._tx.run(_delete, version=found[0])
        self._renew_if_pins(row, key)
        return not self._is_expired(found)

    def list_prefix(self, owner: str, session: str | None, prefix: str) -> list[Document]:
        """List documents by key."""
        number, row = self._scope(owner, session)
        # Text has characters where it is text, and bytes where it is bytes.
        size = len(prefix.encode()) if self._tx.kind == "mysql" else len(prefix)
        scope = row.number if row else 0
        args = {"owner": number, "session": scope, "size": size, "prefix": prefix}
        rows = self._tx.rows(_list, **args, now=self._tx.now())
        # Sorted here: which order a server gives depends on its collation.
        return sorted((_document(found) for found in rows), key=lambda it: it.key.encode())

    def _scope(self, owner: str, session: str | None) -> tuple[int | None, SessionRow | None]:
        if session is None:
            return find_owner(self._tx, owner), None
        row = get_session(self._tx, owner, session)
        return row.owner, row

    def _writing_scope(self, owner: str, session: str | None) -> tuple[int, SessionRow | None]:
        if session is None:
            return own_number(self._tx, owner), None
        row = get_session(self._tx, owner, session)
        return row.owner, row

    def _lock(self, owner: int | None, scope: int, key: str) -> Row:
        """Lock a document; one that was replaced while it was waited for is looked for again."""
        args = {"owner": owner, "session": scope, "key": key}
        found = self._tx.row(_lock, **args)
        while found is None and self._tx.row(_find, **args) is not None:
            found = self._tx.row(_lock, **args)
        return found

    def _is_expired(self, found: Row) -> bool:
        return found[3] is not None and found[3] <= self._tx.now()

    def _refuse_stale(self, found: Row, key: str, expected_version: int | None) -> None:
        if expected_version is None:
            return
        is_free = expected_version == 0 and (found is None or self._is_expired(found))
        if not is_free and (found is None or found[0] != expected_version):
            raise _stale(key, found, expected_version)

    def _renew_if_pins(self, row: SessionRow | None, key: str) -> None:
        if row is not None and key == PINS_KEY and row.overlays:
            renew_context(self._tx, row)


def _stale(key: str, found: Row, expected: int) -> StaleVersionError:
    is_now = "not there" if found is None else f"at version {found[0]}"
    return StaleVersionError(
        f"document {key!r} is {is_now}, and version {expected} was expected: "
        "read it again, then decide"
    )


def _document(row: Row) -> Document:
    version, key, updated_at, expires_at, value = row
    return Document(
        key=key, value=value, version=version, updated_us=updated_at, expires_us=expires_at
    )


def _columns(t: Tables) -> Any:
    d = t.document.c
    return select(d.version, d.key, d.updated_at, d.expires_at, d.value).where(
        d.owner == bindparam("owner"), d.session == bindparam("session")
    )


def _find(t: Tables) -> Any:
    return _columns(t).where(t.document.c.key == bindparam("key"))


def _lock(t: Tables) -> Any:
    return _find(t).with_for_update()


def _delete(t: Tables) -> Any:
    return delete(t.document).where(t.document.c.version == bindparam("version"))


def _list(t: Tables) -> Any:
    d = t.document.c
    begins = func.substr(d.key, 1, bindparam("size"), type_=d.key.type) == bindparam("prefix")
    return _columns(t).where(begins, or_(d.expires_at.is_(None), d.expires_at > bindparam("now")))

"""Statements about documents. A row's key is its version: each put has a new one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import bindparam, func, literal, or_, select

from ...rules.key_range import KeyRange
from ..base.extras import DocumentWrite
from ..relational._sync.documents import DocumentStatements
from ..relational.rows import DOCUMENT_KEY, DOCUMENT_VERSION, DocumentScope, created_before
from ..relational.rows import Row as DocumentRow
from .tables import Tables
from .tx import Tx, delete_by, update_by

_DELETE = delete_by("document", "version")
_PUT = update_by("document", "version")


class SqlDocumentStatements(DocumentStatements[Tx]):
    """Statements about documents."""

    def find(self, scope: DocumentScope, key: str) -> DocumentRow | None:
        found: DocumentRow | None = self._tx.row(_find, **_of(scope), key=key)
        return found

    def lock(self, scope: DocumentScope, key: str) -> DocumentRow | None:
        """Lock a document; one that was replaced while it was waited for is looked for again."""
        found: DocumentRow | None = self._tx.row(_lock, **_of(scope), key=key)
        while found is None and self.find(scope, key) is not None:
            found = self._tx.row(_lock, **_of(scope), key=key)
        return found

    def put(
        self, scope: DocumentScope, new: DocumentWrite, value: bytes, replaced: DocumentRow | None
    ) -> DocumentRow:
        """Write it. Two that create the same one at once are told apart by its key."""
        now = self._tx.now()
        stored = {
            "key": new.key,
            "updated_at": now,
            "expires_at": None if new.expires_in_us is None else now + new.expires_in_us,
            "value": value,
            "inherit": int(new.inherit),
            "created_at": created_before(replaced, now),
        }
        if replaced is not None:
            self.delete(scope, replaced)
        return (self._tx.add("document", **_of(scope), **stored), *stored.values())

    def renew(self, scope: DocumentScope, found: DocumentRow, expires_at: int) -> DocumentRow:
        self._tx.run(_PUT, of_version=found[DOCUMENT_VERSION], expires_at=expires_at)
        version, key, updated_at, _, *rest = found
        return (version, key, updated_at, expires_at, *rest)

    def rewrite(self, scope: DocumentScope, found: DocumentRow, value: bytes) -> None:
        self._tx.run(_PUT, of_version=found[DOCUMENT_VERSION], value=value)

    def delete(self, scope: DocumentScope, found: DocumentRow) -> None:
        self._tx.run(_DELETE, version=found[DOCUMENT_VERSION])

    def list_range(
        self, scope: DocumentScope, asked: KeyRange, now: int, values: bool
    ) -> list[DocumentRow]:
        tx, of = self._tx, _of(scope)
        if tx.tables.keys_are_sorted:
            low, is_included, high = asked.bounds()
            made = tx.made(_range, values, is_included, asked.reverse, asked.limit is not None)
            params: dict[str, Any] = {**of, "low": low, "high": high, "now": now}
            if asked.limit is not None:
                params["most"] = asked.limit
            return [tuple(row) for row in tx.conn.execute(made, params)]
        # A column of the user's on PostgreSQL or SQLite: which order it has is not known.
        prefix = asked.prefix
        made = tx.made(_with_prefix, values)
        rows = tx.conn.execute(made, {**of, "size": len(prefix), "prefix": prefix, "now": now})
        by_key = {row[DOCUMENT_KEY]: row for row in rows}
        return [by_key[key] for key in asked.of(by_key)]


def _of(scope: DocumentScope) -> dict[str, int | None]:
    return {"owner": scope.place, "session": scope.session}


def _columns(t: Tables, values: bool = True) -> Any:
    d = t.document.c
    value = d.value if values else literal(b"", d.value.type)
    columns = (d.version, d.key, d.updated_at, d.expires_at, value, d.inherit, d.created_at)
    return select(*columns).where(d.owner == bindparam("owner"), d.session == bindparam("session"))


def _find(t: Tables) -> Any:
    return _columns(t).where(t.document.c.key == bindparam("key"))


def _lock(t: Tables) -> Any:
    return _find(t).with_for_update()


def _range(t: Tables, values: bool, is_included: bool, reverse: bool, is_limited: bool) -> Any:
    d = t.document.c
    begins = d.key >= bindparam("low") if is_included else d.key > bindparam("low")
    found = _lasting(t, values).where(begins, d.key < bindparam("high"))
    in_order = _by_key(t, found).order_by(d.key.desc() if reverse else d.key)
    return in_order.limit(bindparam("most")) if is_limited else in_order


def _by_key(t: Tables, found: Any) -> Any:
    """Let MariaDB begin at the first key: by itself it may go over all keys of a session.

    It names the index of a unique key after the first column; a user's may have any name.
    """
    name = t.document.c.owner.name
    if t.kind != "mysql" or t.are_theirs or not name.isidentifier():
        return found
    return found.with_hint(t.document, f"FORCE INDEX (`{name}`)")


def _with_prefix(t: Tables, values: bool) -> Any:
    d = t.document.c
    begins = func.substr(d.key, 1, bindparam("size"), type_=d.key.type) == bindparam("prefix")
    return _lasting(t, values).where(begins)


def _lasting(t: Tables, values: bool) -> Any:
    d = t.document.c
    return _columns(t, values).where(
        or_(d.expires_at.is_(None), d.expires_at > bindparam("now")),
    )

"""Work on documents, an owner's own or a session's, and the pins that one holds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ....calls import AsyncAnswer
from ....model import Document, Fence
from ....rules.key_range import KeyRange
from ...base.extras import DocumentWrite, Extras
from ...base.refusals import lease_lost, renewed_until, stale_document
from ..rows import (
    DOCUMENT_EXPIRES_AT,
    DOCUMENT_KEY,
    DOCUMENT_VERSION,
    PINS_KEY,
    DocumentScope,
    Row,
    SessionRow,
    document_of,
    pinned_ids,
)
from ..statements import SubjectStatements, T
from .lookup import AsyncLookupStatements, get_session

if TYPE_CHECKING:
    from .dialect import AsyncDialect


ALWAYS = -1
"""Before all times: nothing had expired by then."""


class AsyncDocumentStatements(SubjectStatements[T]):
    """Statements about documents. A row is described in `relational.rows`."""

    def scope_of(self, session: SessionRow) -> DocumentScope:
        """Return the scope of a session's documents."""
        return DocumentScope(session.owner, session.number)

    async def owner_scope(self, owner: int | None) -> DocumentScope:
        """Return the scope of an owner's own documents; it holds none without such an owner."""
        return DocumentScope(owner, 0)

    @abstractmethod
    async def find(self, scope: DocumentScope, key: str) -> Row | None:
        """Return a document's row, expired or not."""

    async def lock(self, scope: DocumentScope, key: str) -> Row | None:
        """Return a document's row, expired or not, which nobody else changes then."""
        return await self.find(scope, key)

    @abstractmethod
    async def put(
        self, scope: DocumentScope, new: DocumentWrite, value: bytes, replaced: Row | None
    ) -> Row:
        """Write a document under a version of its own, in place of another; return its row."""

    @abstractmethod
    async def renew(self, scope: DocumentScope, found: Row, expires_at: int) -> Row:
        """Let a document that was found expire later; return its row."""

    @abstractmethod
    async def rewrite(self, scope: DocumentScope, found: Row, value: bytes) -> None:
        """Replace the value of a document that was found, and nothing else of it."""

    @abstractmethod
    async def delete(self, scope: DocumentScope, found: Row) -> None:
        """Delete a document that was found."""

    @abstractmethod
    async def list_range(
        self, scope: DocumentScope, asked: KeyRange, now: int, values: bool
    ) -> list[Row]:
        """Return documents that have not expired by a time, those asked for, in order.

        Without values, each has an empty one.
        """

    def document_of(self, row: Row) -> Document:
        """Return the document of a row; a damaged one is `StoreCorruptError`."""
        return document_of(row)


class AsyncRelationalDocuments:
    """Work on documents."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self._dialect = dialect

    async def find(self, owner: str, session: str | None, key: str) -> Document | None:
        """Find a document that has not expired."""
        statements = self._dialect.documents
        scope, _ = await self._place(owner, session)
        found = await statements.find(scope, key)
        if found is None or await self._is_expired(found):
            return None
        return statements.document_of(found)

    async def put(self, owner: str, session: str | None, new: DocumentWrite) -> Document:
        """Create or replace a document."""
        assert new.value is not None
        statements = self._dialect.documents
        scope, row = await self._place(owner, session, is_put=True)
        found = await self._lock(scope, new)
        stored = await statements.put(scope, new, new.value, found)
        await self._renew_if_pins(row, new.key)
        return statements.document_of(stored)

    async def put_all(self, owner: str, session: str, extras: Extras) -> dict[str, int]:
        """Put and delete some of a session's documents."""
        row = await get_session(self._dialect, owner, session)
        await refuse_lost(self._dialect, row, extras.fences)
        return await self.write_all(row, extras.documents)

    async def write_all(
        self, session: SessionRow, documents: Sequence[DocumentWrite]
    ) -> dict[str, int]:
        """Put and delete documents of a session that is locked; return the version of each."""
        statements = self._dialect.documents
        scope = statements.scope_of(session)
        versions: dict[str, int] = {}
        for new in documents:
            found = await self._lock(scope, new)
            if new.value is not None:
                stored = await statements.put(scope, new, new.value, found)
                versions[new.key] = stored[DOCUMENT_VERSION]
            else:
                if found is not None:
                    await statements.delete(scope, found)
                versions[new.key] = 0
        for new in documents:
            await self._renew_if_pins(session, new.key)
        return versions

    async def versions(
        self, session: SessionRow, documents: Sequence[DocumentWrite]
    ) -> dict[str, int]:
        """Return the versions of some of a session's documents as they are now."""
        statements = self._dialect.documents
        scope = statements.scope_of(session)
        found = {it.key: await statements.find(scope, it.key) for it in documents}
        return {key: 0 if row is None else row[DOCUMENT_VERSION] for key, row in found.items()}

    async def _lock(self, scope: DocumentScope, new: DocumentWrite) -> Row | None:
        """Return the row of a document that is to be changed, at the version that is expected."""
        found = await self._dialect.documents.lock(scope, new.key)
        if new.expected_version is not None:
            await self._refuse_stale(found, new.key, new.expected_version)
        return found

    async def renew(
        self, owner: str, session: str | None, key: str, expected_version: int, expires_in_us: int
    ) -> Document:
        """Let a document expire later."""
        statements = self._dialect.documents
        scope, _ = await self._place(owner, session)
        found = await statements.lock(scope, key)
        if found is None or found[DOCUMENT_VERSION] != expected_version:
            version = None if found is None else found[DOCUMENT_VERSION]
            raise stale_document(key, version, expected_version)
        until = renewed_until(
            key, found[DOCUMENT_EXPIRES_AT], await self._dialect.now(), expires_in_us
        )
        return statements.document_of(await statements.renew(scope, found, until))

    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool:
        """Delete a document; an expired one counts as not there."""
        statements = self._dialect.documents
        scope, row = await self._place(owner, session)
        found = await self._lock(scope, DocumentWrite(key, None, expected_version, None, True))
        if found is None:
            return False
        await statements.delete(scope, found)
        await self._renew_if_pins(row, key)
        return not await self._is_expired(found)

    async def delete_prefix(self, owner: str, session: str | None, prefix: str) -> int:
        """Delete documents by the beginning of their keys."""
        statements = self._dialect.documents
        scope, row = await self._place(owner, session)
        now = await self._dialect.now()
        found = await statements.list_range(scope, KeyRange(prefix), ALWAYS, values=False)
        for it in found:
            await statements.delete(scope, it)
            await self._renew_if_pins(row, it[DOCUMENT_KEY])
        expiries = [it[DOCUMENT_EXPIRES_AT] for it in found]
        return sum(at is None or at > now for at in expiries)

    async def list_range(
        self, owner: str, session: str | None, asked: KeyRange, values: bool
    ) -> list[Document]:
        """List documents by key."""
        statements = self._dialect.documents
        scope, _ = await self._place(owner, session)
        rows = await statements.list_range(scope, asked, await self._dialect.now(), values)
        make = statements.document_of if values else document_of
        return [make(row) for row in rows]

    async def _place(
        self, owner: str, session: str | None, *, is_put: bool = False
    ) -> tuple[DocumentScope, SessionRow | None]:
        """Return whose a document is; an owner for whom one is put is made if there was none."""
        documents, lookup = self._dialect.documents, self._dialect.lookup
        if session is None:
            number = await (lookup.own_number if is_put else lookup.find_owner)(owner)
            return await documents.owner_scope(number), None
        row = await get_session(self._dialect, owner, session)
        return documents.scope_of(row), row

    async def _is_expired(self, found: Row) -> bool:
        at = found[DOCUMENT_EXPIRES_AT]
        return at is not None and at <= await self._dialect.now()

    async def _refuse_stale(self, found: Row | None, key: str, expected: int) -> None:
        is_free = expected == 0 and (found is None or await self._is_expired(found))
        version = None if found is None else found[DOCUMENT_VERSION]
        if not is_free and version != expected:
            raise stale_document(key, version, expected)

    async def _renew_if_pins(self, session: SessionRow | None, key: str) -> None:
        if session is not None and key == PINS_KEY and session.overlays:
            await self._dialect.sums.renew_context(session)


async def refuse_lost(dialect: AsyncDialect, session: SessionRow, fences: Iterable[Fence]) -> None:
    """Refuse a write of a session that is locked when one of its fences does not hold any more."""
    scope = dialect.documents.scope_of(session)
    for fence in fences:
        found = await dialect.documents.lock(scope, fence.key)
        if found is None or found[DOCUMENT_VERSION] != fence.version:
            raise lease_lost(fence.key, session.id)


async def find_pins(
    documents: AsyncDocumentStatements[Any],
    lookup: AsyncLookupStatements[Any],
    now: Callable[[], AsyncAnswer[int]],
    session: SessionRow,
) -> list[int]:
    """Return the positions of the live messages that are pinned; damage is `StoreCorruptError`."""
    found = await documents.find(documents.scope_of(session), PINS_KEY)
    if found is None:
        return []
    expires_at = found[DOCUMENT_EXPIRES_AT]
    if expires_at is not None and expires_at <= await now():
        return []
    ids = pinned_ids(documents.document_of(found).value, session.id)
    seen = await lookup.find_all_seen(session, ids)
    return [it.pos for it in seen.values() if it.is_live]

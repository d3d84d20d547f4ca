"""The calls about documents, as units of work."""

from __future__ import annotations

from collections.abc import Sequence

from ....model import Document, DocumentChange, Fence
from ....rules import check, document_checks
from ....rules.key_range import KeyRange
from ....store._async.documents import AsyncDocumentCalls
from ..extras import DocumentWrite, checked_extras
from .runner import AsyncRunner


class AsyncBaseDocuments(AsyncDocumentCalls):
    """What a store does with documents, by its runner."""

    _runner: AsyncRunner
    max_message_bytes: int

    async def find_document(
        self, owner: str, key: str, *, session: str | None = None
    ) -> Document | None:
        document_checks.document(owner, session, key)
        return await self._runner.read(lambda unit: unit.documents.find(owner, session, key))

    async def put_document(
        self,
        owner: str,
        key: str,
        value: bytes,
        *,
        session: str | None = None,
        expected_version: int | None = None,
        expires_in_s: float | None = None,
        inherit: bool = True,
    ) -> Document:
        document_checks.document(owner, session, key)
        document_checks.document_value(value, self.max_message_bytes)
        check.version(expected_version)
        document_checks.inheritance(inherit, session, key)
        expires_in_us = document_checks.expiry(expires_in_s, session, key)
        new = DocumentWrite(key, value, expected_version, expires_in_us, inherit)
        return await self._runner.write(lambda unit: unit.documents.put(owner, session, new))

    async def put_documents(
        self,
        owner: str,
        session: str,
        documents: Sequence[DocumentChange],
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> dict[str, int]:
        check.owner_and_session(owner, session)
        extras = checked_extras(fence=fence, documents=documents, max_bytes=self.max_message_bytes)
        return await self._runner.write(lambda unit: unit.documents.put_all(owner, session, extras))

    async def renew_document(
        self,
        owner: str,
        key: str,
        *,
        expected_version: int,
        expires_in_s: float,
        session: str | None = None,
    ) -> Document:
        document_checks.document(owner, session, key)
        expires_in_us = document_checks.renewal(expected_version, expires_in_s, session, key)
        return await self._runner.write(
            lambda unit: unit.documents.renew(owner, session, key, expected_version, expires_in_us)
        )

    async def delete_document(
        self,
        owner: str,
        key: str,
        *,
        session: str | None = None,
        expected_version: int | None = None,
    ) -> bool:
        document_checks.document(owner, session, key)
        check.version(expected_version)
        return await self._runner.write(
            lambda unit: unit.documents.delete(owner, session, key, expected_version)
        )

    async def delete_documents(self, owner: str, prefix: str, *, session: str | None = None) -> int:
        document_checks.documents(owner, session, prefix)
        return await self._runner.write(
            lambda unit: unit.documents.delete_prefix(owner, session, prefix)
        )

    async def list_documents(
        self,
        owner: str,
        prefix: str = "",
        *,
        session: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        reverse: bool = False,
        values: bool = True,
    ) -> list[Document]:
        document_checks.documents(owner, session, prefix)
        check.given(check.key, after, "after")
        check.whole(limit, "limit", 1)
        asked = KeyRange(prefix, after, limit, bool(reverse))
        return await self._runner.read(
            lambda unit: unit.documents.list_range(owner, session, asked, bool(values))
        )

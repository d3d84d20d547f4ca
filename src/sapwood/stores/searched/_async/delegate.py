"""A store that passes every call on to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ....model import (
    Appended,
    Changes,
    Deleted,
    Document,
    Fence,
    Gap,
    History,
    Hits,
    Leaf,
    Message,
    NewMessage,
    NewOverlay,
    NewSession,
    Overlay,
    Read,
    Root,
    Search,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
    Usage,
    UsageTotal,
)
from ....store._async.admin import AsyncStoreAdmin
from ....store._async.contract import AsyncStore


class AsyncDelegatingStore(AsyncStore):
    """Passes every call on; whoever inherits from it changes a few."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self.capabilities = store.capabilities
        self.max_message_bytes = store.max_message_bytes

    @property
    def admin(self) -> AsyncStoreAdmin:
        """The calls about the store as a whole."""
        return self._store.admin

    async def create_session(self, owner: str, session: NewSession) -> SessionRecord:
        return await self._store.create_session(owner, session)

    async def find_session(self, owner: str, session: str) -> SessionRecord | None:
        return await self._store.find_session(owner, session)

    async def update_session(
        self,
        owner: str,
        session: str,
        patch: SessionPatch,
        *,
        expected_version: int | None = None,
    ) -> SessionRecord:
        return await self._store.update_session(
            owner, session, patch, expected_version=expected_version
        )

    async def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord:
        return await self._store.checkout(owner, session, message)

    async def list_sessions(self, owner: str, query: SessionQuery) -> SessionPage:
        return await self._store.list_sessions(owner, query)

    async def delete_session(self, owner: str, session: str) -> None:
        await self._store.delete_session(owner, session)

    async def clear_session(self, owner: str, session: str) -> SessionRecord:
        return await self._store.clear_session(owner, session)

    async def append(
        self,
        owner: str,
        session: str,
        messages: Sequence[NewMessage],
        *,
        parent: str | Root | None = None,
        expected_tip: str | Root | None = None,
    ) -> Appended:
        return await self._store.append(
            owner, session, messages, parent=parent, expected_tip=expected_tip
        )

    async def update_message(self, owner: str, session: str, message: NewMessage) -> Message:
        return await self._store.update_message(owner, session, message)

    async def delete_messages(self, owner: str, session: str, ids: Sequence[str]) -> Deleted:
        return await self._store.delete_messages(owner, session, ids)

    async def find_messages(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[Message | None]:
        return await self._store.find_messages(owner, session, ids)

    async def read(self, owner: str, session: str, query: Read) -> History:
        return await self._store.read(owner, session, query)

    async def list_children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        return await self._store.list_children(owner, session, message)

    async def list_leaves(self, owner: str, session: str) -> list[Leaf]:
        return await self._store.list_leaves(owner, session)

    async def list_gaps(self, owner: str, session: str, leaf: str, *, after: int = 0) -> list[Gap]:
        return await self._store.list_gaps(owner, session, leaf, after=after)

    async def add_overlay(
        self, owner: str, session: str, overlay: NewOverlay, *, fence: Fence | None = None
    ) -> Overlay:
        return await self._store.add_overlay(owner, session, overlay, fence=fence)

    async def list_overlays(self, owner: str, session: str) -> list[Overlay]:
        return await self._store.list_overlays(owner, session)

    async def undo_overlay(self, owner: str, session: str, overlay: str) -> Overlay:
        return await self._store.undo_overlay(owner, session, overlay)

    async def find_document(
        self, owner: str, key: str, *, session: str | None = None
    ) -> Document | None:
        return await self._store.find_document(owner, key, session=session)

    async def put_document(
        self,
        owner: str,
        key: str,
        value: bytes,
        *,
        session: str | None = None,
        expected_version: int | None = None,
        expires_in_s: float | None = None,
    ) -> Document:
        return await self._store.put_document(
            owner,
            key,
            value,
            session=session,
            expected_version=expected_version,
            expires_in_s=expires_in_s,
        )

    async def delete_document(
        self,
        owner: str,
        key: str,
        *,
        session: str | None = None,
        expected_version: int | None = None,
    ) -> bool:
        return await self._store.delete_document(
            owner, key, session=session, expected_version=expected_version
        )

    async def list_documents(
        self, owner: str, prefix: str = "", *, session: str | None = None
    ) -> list[Document]:
        return await self._store.list_documents(owner, prefix, session=session)

    async def search(self, owner: str, search: Search) -> Hits:
        return await self._store.search(owner, search)

    async def add_usage(self, owner: str, session: str, usage: Usage) -> bool:
        return await self._store.add_usage(owner, session, usage)

    async def total_usage(
        self, owner: str, session: str, *, by: Literal["model", "message"] = "model"
    ) -> list[UsageTotal]:
        return await self._store.total_usage(owner, session, by=by)

    async def total_owner_usage(self, owner: str) -> list[UsageTotal]:
        return await self._store.total_owner_usage(owner)

    async def statistics(self, owner: str) -> Statistics:
        return await self._store.statistics(owner)

    async def changes(
        self, owner: str, *, after: str = "", limit: int = 500, reader: str | None = None
    ) -> Changes:
        return await self._store.changes(owner, after=after, limit=limit, reader=reader)

    async def settle(self) -> None:
        await self._store.settle()

    async def erase_owner(self, owner: str) -> None:
        await self._store.erase_owner(owner)

    async def aclose(self) -> None:
        await self._store.aclose()

"""The facade of every store: checks arguments, and makes each call a unit of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ....model import (
    Appended,
    Changes,
    Deleted,
    DocumentChange,
    Fence,
    Gap,
    History,
    Hits,
    Leaf,
    Message,
    MessagePage,
    NewMessage,
    NewOverlay,
    NewSession,
    OnKnown,
    Overlay,
    Position,
    Read,
    Recent,
    Root,
    Search,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
    UpdatedMessage,
    UpdatedSession,
    Usage,
    UsageTotal,
)
from ....rules import check, document_checks
from ....rules.codec import MAX_MESSAGE_BYTES, pack
from ....rules.query import parse
from ....rules.tokens import estimate_text
from ....store._async.admin import AsyncStoreAdmin
from ....store._async.contract import AsyncStore
from ....store.capability import Capability
from ..append_request import Request, in_given_order
from ..extras import Extras, checked_extras
from .admin import AsyncBaseAdmin
from .data import AsyncBaseData
from .documents import AsyncBaseDocuments
from .runner import AsyncRunner


class AsyncBaseStore(AsyncBaseData, AsyncBaseDocuments, AsyncStore):
    """A store that does its work in units, by a runner."""

    def __init__(
        self,
        runner: AsyncRunner,
        *,
        new_id: Callable[[], str],
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self._runner = runner
        self._new_id = new_id
        self.max_message_bytes = max_message_bytes

    @property
    def admin(self) -> AsyncStoreAdmin:
        """The calls about the store as a whole."""
        return AsyncBaseAdmin(
            self._runner,
            max_bytes=self.max_message_bytes,
            has_data=Capability.DATA in self.capabilities,
        )

    async def create_session(self, owner: str, session: NewSession) -> SessionRecord:
        check.owner(owner)
        check.new_session(session)
        return await self._runner.write(lambda unit: unit.sessions.create(owner, session))

    async def find_session(self, owner: str, session: str) -> SessionRecord | None:
        check.owner_and_session(owner, session)
        return await self._runner.glance(lambda unit: unit.sessions.find(owner, session))

    async def update_session(
        self,
        owner: str,
        session: str,
        patch: SessionPatch,
        *,
        expected_version: int | None = None,
        expected_tip: str | Root | None = None,
        fence: Fence | Sequence[Fence] | None = None,
        documents: Sequence[DocumentChange] = (),
    ) -> UpdatedSession:
        check.owner_and_session(owner, session)
        check.patch(patch)
        check.given(check.place, expected_tip, "expected_tip")
        extras = self._extras(fence, expected_version, documents, patch)
        return await self._runner.write(
            lambda unit: unit.sessions.update(owner, session, expected_tip, extras)
        )

    def _extras(
        self,
        fence: Fence | Sequence[Fence] | None,
        expected_version: int | None,
        documents: Sequence[DocumentChange],
        patch: SessionPatch | None,
    ) -> Extras:
        return checked_extras(
            fence=fence,
            expected_version=expected_version,
            documents=documents,
            patch=patch,
            max_bytes=self.max_message_bytes,
        )

    async def checkout(
        self,
        owner: str,
        session: str,
        message: str | Root,
        *,
        expected_tip: str | Root | None = None,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> SessionRecord:
        check.owner_and_session(owner, session)
        check.place(message, "message")
        check.given(check.place, expected_tip, "expected_tip")
        fences = document_checks.fences(fence)
        return await self._runner.write(
            lambda unit: unit.sessions.checkout(owner, session, message, expected_tip, fences)
        )

    async def list_sessions(self, owner: str, query: SessionQuery) -> SessionPage:
        check.owner(owner)
        check.session_query(query)
        return await self._runner.read(lambda unit: unit.sessions.list_page(owner, query))

    async def find_recent(
        self, owner: str, sessions: Sequence[str], *, document: str | None = None
    ) -> list[Recent | None]:
        document_checks.recent(owner, sessions, document)
        return await self._runner.glance(
            lambda unit: unit.messages.recent(owner, sessions, document)
        )

    async def delete_session(
        self, owner: str, session: str, *, expected_version: int | None = None
    ) -> None:
        check.owner_and_session(owner, session)
        check.version(expected_version)
        await self._runner.write(
            lambda unit: unit.sessions.delete(owner, session, expected_version)
        )

    async def clear_session(
        self, owner: str, session: str, *, keep_data: bool = False
    ) -> SessionRecord:
        check.owner_and_session(owner, session)
        check.instance(keep_data, bool, "keep_data")
        if keep_data:
            self._refuse_data()
        mark = self._new_id() if keep_data else None
        return await self._runner.write(lambda unit: unit.sessions.clear(owner, session, mark))

    async def append(
        self,
        owner: str,
        session: str,
        messages: Sequence[NewMessage],
        *,
        parent: str | Root | None = None,
        expected_tip: str | Root | None = None,
        expected_version: int | None = None,
        fence: Fence | Sequence[Fence] | None = None,
        documents: Sequence[DocumentChange] = (),
        patch: SessionPatch | None = None,
        expected_snapshot: str | None = None,
        on_known: OnKnown = "return",
        data: dict[str, Any] | None = None,
        expected_data: Position | Root | None = None,
        id: str | None = None,
    ) -> Appended:
        check.owner_and_session(owner, session)
        batch = self._batch(messages, data, id)
        check.given(check.place, parent, "parent")
        check.given(check.place, expected_tip, "expected_tip")
        check.given(check.text, expected_snapshot, "expected_snapshot")
        check.on_known(on_known)
        extras = self._extras(fence, expected_version, documents, patch)
        self._check_expected_data(expected_data)
        options = (extras, on_known, expected_snapshot, expected_data)
        request = Request(owner, session, batch, parent, expected_tip, *options)
        appended = await self._runner.append(request)
        return in_given_order(appended, batch) if on_known == "skip" else appended

    async def update_message(
        self,
        owner: str,
        session: str,
        message: NewMessage,
        *,
        expected_version: int | None = None,
        expected_tip: str | Root | None = None,
        fence: Fence | Sequence[Fence] | None = None,
        documents: Sequence[DocumentChange] = (),
        patch: SessionPatch | None = None,
    ) -> UpdatedMessage:
        check.owner_and_session(owner, session)
        check.has_id(message)
        packed = pack(message, self._new_id, self.max_message_bytes)
        check.given(check.place, expected_tip, "expected_tip")
        extras = self._extras(fence, expected_version, documents, patch)
        return await self._runner.write(
            lambda unit: unit.messages.update(owner, session, packed, expected_tip, extras)
        )

    async def delete_messages(
        self,
        owner: str,
        session: str,
        ids: Sequence[str],
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Deleted:
        check.owner_and_session(owner, session)
        check.message_ids(ids)
        fences = document_checks.fences(fence)
        return await self._runner.write(
            lambda unit: unit.messages.delete(owner, session, ids, fences)
        )

    async def find_messages(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[Message | None]:
        check.owner_and_session(owner, session)
        check.message_ids(ids)
        return await self._runner.read(lambda unit: unit.messages.find(owner, session, ids))

    async def find_parents(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[str | Root | None]:
        check.owner_and_session(owner, session)
        check.message_ids(ids)
        return await self._runner.read(lambda unit: unit.messages.parents(owner, session, ids))

    async def find_homes(self, owner: str, message: str) -> list[str]:
        check.owner(owner)
        check.name(message, "message")
        return await self._runner.read(lambda unit: unit.messages.homes(owner, message))

    async def list_messages(
        self, owner: str, session: str, *, after: Position | None = None, limit: int = 500
    ) -> MessagePage:
        check.owner_and_session(owner, session)
        check.message_page(after, limit)
        return await self._runner.read(
            lambda unit: unit.messages.list_page(owner, session, after, limit)
        )

    async def read(self, owner: str, session: str, query: Read) -> History:
        check.owner_and_session(owner, session)
        check.read(query)
        return await self._runner.read(lambda unit: unit.messages.read(owner, session, query))

    async def list_children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        check.owner_and_session(owner, session)
        check.place(message, "message")
        return await self._runner.read(lambda unit: unit.messages.children(owner, session, message))

    async def list_leaves(self, owner: str, session: str) -> list[Leaf]:
        check.owner_and_session(owner, session)
        return await self._runner.read(lambda unit: unit.messages.leaves(owner, session))

    async def list_gaps(self, owner: str, session: str, leaf: str, *, after: int = 0) -> list[Gap]:
        check.owner_and_session(owner, session)
        check.name(leaf, "leaf")
        check.count(after, "after", 0)
        return await self._runner.read(lambda unit: unit.messages.gaps(owner, session, leaf, after))

    async def add_overlay(
        self,
        owner: str,
        session: str,
        overlay: NewOverlay,
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Overlay:
        check.owner_and_session(owner, session)
        check.new_overlay(overlay, self.max_message_bytes)
        fences = document_checks.fences(fence)
        id = overlay.id or self._new_id()
        tokens = estimate_text(overlay.summary) if overlay.tokens is None else overlay.tokens
        return await self._runner.write(
            lambda unit: unit.overlays.add(owner, session, overlay, id, tokens, fences)
        )

    async def list_overlays(self, owner: str, session: str) -> list[Overlay]:
        check.owner_and_session(owner, session)
        return await self._runner.read(lambda unit: unit.overlays.in_force(owner, session))

    async def undo_overlay(
        self,
        owner: str,
        session: str,
        overlay: str,
        *,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> Overlay:
        check.owner_and_session(owner, session)
        check.name(overlay, "overlay")
        fences = document_checks.fences(fence)
        return await self._runner.write(
            lambda unit: unit.overlays.undo(owner, session, overlay, fences)
        )

    async def search(self, owner: str, search: Search) -> Hits:
        check.owner(owner)
        check.search(search)
        query = parse(search.text)
        return await self._runner.read(lambda unit: unit.search.search(owner, search, query))

    async def add_usage(self, owner: str, session: str, usage: Usage) -> bool:
        check.owner_and_session(owner, session)
        check.usage(usage)
        return await self._runner.write(lambda unit: unit.usage.add(owner, session, usage))

    async def total_usage(
        self, owner: str, session: str, *, by: Literal["model", "message"] = "model"
    ) -> list[UsageTotal]:
        check.owner_and_session(owner, session)
        check.usage_by(by)
        if by == "message":
            return await self._runner.read(
                lambda unit: unit.usage.totals_by_message(owner, session)
            )
        return await self._runner.read(lambda unit: unit.usage.totals_by_model(owner, session))

    async def statistics(self, owner: str) -> Statistics:
        check.owner(owner)
        return await self._runner.read(lambda unit: unit.sessions.statistics(owner))

    async def changes(
        self, owner: str, *, after: str = "", limit: int = 500, reader: str | None = None
    ) -> Changes:
        check.owner(owner)
        check.feed(after, limit, reader)
        if reader is not None:
            name = reader
            await self._runner.write(lambda unit: unit.feed.register(owner, name, after))
        return await self._runner.read(lambda unit: unit.feed.changes(owner, after, limit))

    async def feed_cursor(self, owner: str) -> str:
        check.owner(owner)
        return await self._runner.read(lambda unit: unit.feed.newest(owner))

    async def forget_reader(self, owner: str, reader: str) -> bool:
        check.owner(owner)
        check.name(reader, "reader")
        return await self._runner.write(lambda unit: unit.feed.forget(owner, reader))

    async def finish_deletions(self) -> None:
        await self._runner.finish_deletions()

    async def erase_owner(self, owner: str) -> None:
        check.owner(owner)
        await self._runner.write(lambda unit: unit.sessions.erase_owner(owner))

    async def aclose(self) -> None:
        await self._runner.aclose()

"""Closing a session and opening it again: each is one write to its record, at a known version."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from ...errors import NotFoundError, StaleVersionError
from ...model import (
    DocumentChange,
    DocumentDelete,
    Root,
    SessionKey,
    SessionPatch,
    SessionRecord,
    SystemPatch,
)
from ...rules.states import state_after_hooks
from ...session.turn_documents import TURN_LEASE
from ...store._async.contract import AsyncStore
from ..route import LeftSession

CLOCK = "lifecycle/clock"
"""A document of the owner that is put to learn what time it is by the store's clock."""
CLOCK_S = 3600.0


class AsyncClosings:
    """What is written when sessions of one owner are closed and opened."""

    def __init__(self, store: AsyncStore, owner: str) -> None:
        self.store = store
        self.owner = owner

    async def find(self, session: str) -> SessionRecord | None:
        """Find a session's record."""
        return await self.store.find_session(self.owner, session)

    async def get(self, session: str) -> SessionRecord:
        """Return a session's record, or raise `NotFoundError`."""
        record = await self.find(session)
        if record is None:
            raise NotFoundError(
                f"{self.owner!r} has no session {session!r}", kind="session", id=session
            )
        return record

    async def now_us(self) -> int:
        """Return the time by the store's clock."""
        document = await self.store.put_document(self.owner, CLOCK, b"", expires_in_s=CLOCK_S)
        return document.updated_us

    async def close(
        self,
        record: SessionRecord,
        reason: str,
        *,
        next: str | UnsetType | None = UNSET,
        expected_tip: str | Root | None = None,
        only_at_rest: bool = False,
    ) -> SessionRecord:
        """Close a session that is as the record says; its hooks are still to be called.

        With `only_at_rest`, `StaleVersionError` while somebody has its turn.
        """
        patch = SessionPatch(
            state="ending",
            closed=True,
            end_reason=reason,
            system=SystemPatch(reason=reason, next=next),
        )
        lease = DocumentDelete(key=TURN_LEASE, expected_version=0 if only_at_rest else None)
        updated = await self.store.update_session(
            self.owner,
            record.id,
            patch,
            expected_version=record.version,
            expected_tip=expected_tip,
            documents=[lease],
        )
        return updated.record

    async def close_left(self, key: SessionKey, left: LeftSession) -> SessionRecord | None:
        """Close a session in the life in which a route left it; return its record.

        The first reason wins, and nothing is done to a later life or under another key.
        """
        while True:
            record = await self.find(left.session)
            if record is None or record.closed:
                return record
            if record.system.key != key.parts or record.system.life != left.life:
                return record
            try:
                return await self.close(record, left.reason)
            except StaleVersionError:
                continue
            except NotFoundError:
                return None

    async def take(
        self, record: SessionRecord, key: SessionKey | None, now_us: int
    ) -> SessionRecord:
        """Let a session that is as the record says be one of a key; open it if it is closed.

        Opening counts as activity, and begins another life.
        """
        parts = UNSET if key is None else key.parts
        system = SystemPatch(key=parts)
        patch = SessionPatch(active_us=now_us, system=system)
        documents: list[DocumentChange] = []
        if record.state == "suspended":
            patch = SessionPatch(state="active", active_us=now_us, system=system)
        elif record.closed:
            life = record.system.life + 1
            system = SystemPatch(key=parts, life=life, next=None, reason=None)
            patch = SessionPatch(
                state="active", closed=False, end_reason=None, active_us=now_us, system=system
            )
            documents = [DocumentDelete(key=TURN_LEASE)]
        updated = await self.store.update_session(
            self.owner, record.id, patch, expected_version=record.version, documents=documents
        )
        return updated.record

    async def delete(self, record: SessionRecord) -> None:
        """Delete a session that is as the record says."""
        await self.store.delete_session(self.owner, record.id, expected_version=record.version)

    async def finish(
        self, record: SessionRecord, along: Sequence[DocumentChange] = ()
    ) -> SessionRecord:
        """Give a session whose hooks have run the state in which it stays."""
        patch = SessionPatch(state=state_after_hooks(record.system.reason))
        updated = await self.store.update_session(
            self.owner, record.id, patch, expected_version=record.version, documents=along
        )
        return updated.record

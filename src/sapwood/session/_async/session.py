"""A session: one conversation, as an agent holds it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Self, Unpack

from ...errors import StaleVersionError, UsageError
from ...model import Edge, EdgeKind, ForkPoint, NewSession, SessionPatch, SessionRecord
from ...rules.ids import check_name
from ...rules.tokens import TokenCounter
from ...store._async.contract import AsyncStore
from ..fields import RecordFields, refuse_unknown
from ..naming import Place, id_of
from ..settings import Configurable, SettingFields, settings_of
from .turning import AsyncTurning

BLOCK_SETTINGS = {"context", "searchable_history"}


class AsyncSession(Configurable, AsyncTurning):
    """One conversation. What it holds is in the store: every call asks it.

    A message is named by its id or by the record itself. Every call raises `NotFoundError` when
    the session was deleted, or sees no such message.
    """

    @classmethod
    def create(
        cls,
        store: AsyncStore,
        *,
        owner: str = "default",
        id: str = "default",
        token_counter: TokenCounter | None = None,
        **settings: Unpack[SettingFields],
    ) -> Self:
        """Begin a builder: a session that is created by its first write.

        Everything is set by the methods that follow, in any order, or by keywords.
        """
        return cls(
            store,
            owner,
            id,
            token_counter=token_counter,
            settings=settings_of(settings, ("owner", "id", "token_counter")),
            is_lazy=True,
        )

    def _set(self, **changes: Any) -> Self:
        if self._held_context is not None and not BLOCK_SETTINGS.isdisjoint(changes):
            raise UsageError(
                "blocks are set before the session is used: use add_context now", path="context"
            )
        return super()._set(**changes)

    def for_session(self, id: str) -> Self:
        """Say which session it is, before it is used."""
        check_name(id, "session")
        if not self._is_lazy or self._held_context is not None:
            raise UsageError(f"this is session {self._id!r} already", path="session")
        self._id = id
        return self

    async def update_record(
        self, *, expected_version: int | None = None, **fields: Unpack[RecordFields]
    ) -> SessionRecord:
        """Change title, state, tags, data or budget; what is not given stays.

        `StaleVersionError` when the record's version is not the expected one.
        """
        refuse_unknown(fields, RecordFields)
        patch = SessionPatch(**fields)
        return await self._first_creating(
            lambda: self._store.update_session(
                self._owner, self._id, patch, expected_version=expected_version
            )
        )

    async def fork(
        self,
        id: str | None = None,
        message: Place | None = None,
        *,
        detach: bool = False,
        title: str | None = None,
    ) -> Self:
        """Make a session that goes on from a message of this one, or from its tip.

        No message is copied, unless it is detached. It has the same settings. `AlreadyExistsError`
        when the id is taken.
        """
        return await self._fork(EdgeKind.BRANCH, id, message, detach=detach, title=title)

    async def _fork(
        self,
        kind: EdgeKind,
        id: str | None,
        message: Place | None = None,
        *,
        detach: bool = False,
        title: str | None = None,
    ) -> Self:
        if id is None:
            if self._new_id is None:
                raise UsageError("a session from a builder needs an id for its fork", path="id")
            id = self._new_id()
        new = NewSession(
            id=id,
            title=title,
            parent=Edge(kind=kind, session=self._id),
            fork=ForkPoint(session=self._id, message=id_of(message), detach=detach),
        )
        record = await self._store.create_session(self._owner, new)
        return type(self)(
            self._store,
            self._owner,
            record.id,
            new_id=self._new_id,
            token_counter=self._counter,
            settings=self._settings,
        )

    async def split(
        self, id: str | None = None, *, summary: str | None = None, focus: str | None = None
    ) -> Self:
        """Go on in a new session that begins with a summary of this one; this one is ended.

        The new session is a fork at the tip, linked as its continuation, with the blocks and the
        title of this one, and an overlay over what was said, which is still there to be found.
        This one gets the state "ended" and `data["end_reason"] = "compaction"`. When the summary
        cannot be made, everything is as it was.
        """
        record = await self.record()
        new = await self._fork(EdgeKind.CONTINUE, id, title=record.title)
        try:
            await new._begin_with_summary(summary, focus)
        except BaseException:
            await self._store.delete_session(self._owner, new.id)
            raise
        await self._end("compaction")
        return new

    async def _end(self, reason: str) -> None:
        # Every failed turn means that another writer's went through, so this ends.
        while True:
            record = await self.record()
            data = {**record.data, "end_reason": reason}
            with suppress(StaleVersionError):
                await self.update_record(expected_version=record.version, state="ended", data=data)
                return

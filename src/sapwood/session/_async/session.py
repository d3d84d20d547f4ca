"""A session: one conversation, as an agent holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from ...calls import AsyncCall
from ...errors import UsageError
from ...model import (
    ClearEvent,
    DocumentDelete,
    Edge,
    EdgeKind,
    ForkPoint,
    NewSession,
    SessionPatch,
    SessionRecord,
)
from ...rules.ids import check_name
from ...rules.tokens import TokenCounter
from ...store._async.contract import AsyncStore
from ..references import MessageRef, PlaceRef, id_of
from ..settings import Configurable, RecordChanges, SettingFields, refuse_unknown, settings_of
from ..turn_documents import TURN_LEASE
from .compaction_methods import AsyncCompactionMethods
from .context_methods import AsyncContextMethods
from .message_methods import AsyncMessageMethods
from .reading_methods import AsyncReadingMethods
from .tree_methods import REDO_KEY, AsyncTreeMethods
from .turn_methods import AsyncTurnMethods

# Loaded when it is first needed: who takes no turns does not pay for it.
if TYPE_CHECKING:
    from .turn import AsyncTurn


@AsyncCall.reminding
class AsyncSession(
    Configurable,
    AsyncMessageMethods,
    AsyncTreeMethods,
    AsyncReadingMethods,
    AsyncContextMethods,
    AsyncCompactionMethods,
    AsyncTurnMethods,
):
    """One conversation. What it holds is in the store: every call asks it.

    A message is named by its id or by the record itself. Every call raises `NotFoundError` when
    the session was deleted, or sees no such message.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {self.owner!r}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what is known, and without a loop the tree or its end."""
        from ..notebook import AsyncSessionView

        return AsyncSessionView.html(self._stored)

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
            lazy=NewSession(id=id),
        )

    def for_session(self, id: str) -> Self:
        """Set which session it is, before it is used."""
        check_name(id, "session")
        if self._stored.lazy is None or self._setup.blocks_in_use:
            raise UsageError(f"this is session {self.id!r} already", path="session")
        self._stored.id = id
        return self

    @property
    def id(self) -> str:
        """The session's id."""
        return self._stored.id

    @property
    def owner(self) -> str:
        """Whom it belongs to."""
        return self._stored.owner

    async def record(self) -> SessionRecord:
        """Return the session's record: tip, title, tags, attributes, counts."""
        return await self._stored.record()

    async def update_record(
        self, *, expected_version: int | None = None, **fields: Unpack[RecordChanges]
    ) -> SessionRecord:
        """Change fields of the record, such as its title or state; what is not given stays.

        `merge` changes some of the attributes, where `attributes` replaces them all; `closed=True`
        lets it take no more messages, and ends its turn. `StaleVersionError` when the record's
        version is not the expected one.
        """
        refuse_unknown(fields, RecordChanges)
        stored, patch = self._stored, SessionPatch(**fields)
        # Who has the turn of a session that is closed, or opened again, has it no more.
        along = [DocumentDelete(key=TURN_LEASE)] if "closed" in fields else []
        updated = await stored.first_creating(
            lambda: stored.store.update_session(
                stored.owner,
                stored.id,
                patch,
                expected_version=expected_version,
                documents=along,
            ),
            may_be_first=expected_version is None,
        )
        return updated.record

    def turn(self, *, resume: MessageRef | None = None, wait_s: float = 90.0) -> AsyncTurn:
        """Return a turn to be entered: one process at a time, and every write fenced.

        Its first append begins it, and waits so long for another turn's end, else it raises
        `SessionBusyError`. With `resume`, a turn that waits, was interrupted or is to be answered
        anew is taken up at the tip, by its id.
        """
        from .turn import AsyncTurn

        return AsyncTurn(self, resume, wait_s)

    async def clear(self) -> SessionRecord:
        """Delete all messages, overlays and pins; the record's own fields and the blocks stay.

        The frozen prompt is rendered anew; if that fails, before it is next shown.
        """
        stored, context = self._stored, self._context()
        self._pairs.forget()
        record = await stored.store.clear_session(stored.owner, stored.id)
        with stored.after_a_write("notes about cleared messages are left: clear it again"):
            await context.size.forget_report()
            await stored.delete_document(REDO_KEY)
            await context.watch.forget()
        with stored.after_a_write("the prompt is from before the clear: clear it again"):
            await context.blocks.begin_anew()
        await context.watch.after_change(ClearEvent(owner=stored.owner, session=stored.id))
        return record

    async def fork(
        self,
        id: str | None = None,
        message: PlaceRef | None = None,
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
        message: PlaceRef | None = None,
        *,
        detach: bool = False,
        title: str | None = None,
    ) -> Self:
        stored, setup = self._stored, self._setup
        if id is None:
            if setup.new_id is None:
                raise UsageError("a session from a builder needs an id for its fork", path="id")
            id = setup.new_id()
        new = NewSession(
            id=id,
            title=title,
            parent=Edge(kind=kind, session=stored.id),
            fork=ForkPoint(session=stored.id, message=id_of(message), detach=detach),
        )
        record = await stored.store.create_session(stored.owner, new)
        return type(self)(
            stored.store,
            stored.owner,
            record.id,
            new_id=setup.new_id,
            token_counter=setup.counter,
            settings=setup.settings,
        )

    async def compact_and_split(
        self, id: str | None = None, *, summary: str | None = None, focus: str | None = None
    ) -> Self:
        """Go on in a new session that begins with a summary of this one; this one is ended.

        The new session is a fork at the tip, linked as its continuation, with the blocks and the
        title of this one, and an overlay over what was said, which is still there to be found.
        This one gets the state "ended" and the end reason "compaction". When the summary cannot be
        made, everything is as it was.
        """
        record = await self.record()
        new = await self._fork(EdgeKind.CONTINUE, id, title=record.title)
        try:
            await new._context().compactor.cover_all(summary, focus)
        except BaseException:
            await self._stored.store.delete_session(self.owner, new.id)
            raise
        await self.update_record(state="ended", end_reason="compaction")
        return new

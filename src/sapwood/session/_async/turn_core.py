"""What a turn writes: each write a fenced unit, the first with the lease, the last without it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ...calls import AsyncAnswer
from ...errors import (
    LeaseLostError,
    NotFoundError,
    SapwoodError,
    StaleTipError,
    StaleVersionError,
    StoreError,
    TurnStoppedError,
    UsageError,
)
from ...model import Appended, DocumentChange, Message, NewMessage, TurnRecord, TurnState
from ...rules.turns import answers_turn
from ...stores.base.queues import AsyncCallerQueues
from ..references import PlaceRef, id_of
from ..turn_documents import (
    TURN_LEASE,
    TURN_RECORDS,
    again,
    ending,
    mark_of,
    marked,
    put_record,
    taken_up,
    with_ids,
)
from .turn_lease import AsyncTurnLease, end_of_path

if TYPE_CHECKING:
    from .session import AsyncSession
    from .turn_answer import AsyncTurnAnswer

Result = TypeVar("Result")
logger = logging.getLogger(__name__)


class AsyncTurnCore:
    """How a turn begins, goes on and ends in the store."""

    def __init__(self, session: AsyncSession, wait_s: float) -> None:
        self._session = session
        self._stored = session._stored
        self._wait_s = wait_s
        self._lease = AsyncTurnLease(self._stored)
        self._record: TurnRecord | None = None
        self._last: str | None = None
        self._answer: AsyncTurnAnswer | None = None
        self._is_entered = False
        self._is_left = False

    # how it begins and goes on

    async def _append(
        self,
        new: list[NewMessage],
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
        state: TurnState = "open",
        sent: str | None = None,
        *,
        is_clean: bool = False,
    ) -> list[Message]:
        """Append messages; the first take the lease, and those that end the turn let it go."""
        is_first = self._lease.fence is None
        if not is_clean:
            new = await self._session._cleaned(new)
        if sent is not None:
            sent = await self._session._cleaned_text(sent)
        await self._session._pairs.check(new, parent)
        new = with_ids(new, self._stored.setup.new_id, is_first=is_first)
        record = TurnRecord(id=str(new[0].id)) if is_first else self._open()
        *before, last = new
        new = [self._marked(it, "open", record.id) for it in before]
        new.append(self._marked(last, state, record.id, sent))
        along: list[DocumentChange] = []
        if state != "open":
            record = msgspec.structs.replace(record, state=state, last=last.id)
            along = ending(record, was_held=not is_first)
        elif is_first:
            along = [*self._lease.taking(record.id), put_record(record, 0)]

        async def write() -> Appended:
            return await self._send(new, along, parent, expected_tip)

        appended = await (self._begin(record, write) if is_first else self._fenced(write))
        if not appended.written:
            await self._go_on_from(appended.messages[-1], record)
        elif along:
            self._record = record
            if state == "open":
                self._lease.hold(appended.documents[TURN_LEASE])
        self._note(appended.messages)
        await self._session._after_append(appended)
        return appended.messages

    async def _send(
        self,
        new: list[NewMessage],
        along: Sequence[DocumentChange],
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
    ) -> Appended:
        stored = self._stored
        return await stored.first_creating(
            lambda: stored.store.append(
                stored.owner,
                stored.id,
                new,
                parent=id_of(parent),
                expected_tip=id_of(expected_tip),
                fence=self._lease.fence,
                documents=along,
            )
        )

    async def _begin(
        self, record: TurnRecord, write: Callable[[], AsyncAnswer[Appended]]
    ) -> Appended:
        before, self._record, self._last = self._record, record, record.id
        try:
            return await self._lease.take(write, self._wait_s, record.id)
        except StoreError:
            raise  # It may have gone through, as it may when it is cancelled.
        except SapwoodError:
            self._record = before
            raise

    async def _go_on_from(self, last: Message, record: TurnRecord) -> None:
        """Go on from messages that were stored before: by a call whose answer was lost, or not."""
        state = mark_of(last).get("state")
        if record.state != "open" and state == record.state:
            self._record = record
            return
        if self._lease.fence is None:
            if await self._lease.find_own():
                self._lease.hold()
            else:
                self._record = None
                await self._take_up(record.id)
        if record.state != "open":
            self._last = last.id
            await self._fenced(lambda: self._end(record.state))

    async def _take_up(self, id: str) -> None:
        """Take the lease for a turn that was begun before, in one write to its last message."""
        stored = self._stored
        chosen = TurnRecord(id=id)

        async def write() -> dict[str, int]:
            nonlocal chosen
            key = TURN_RECORDS + id
            found = await stored.find_document(key)
            end = await end_of_path(stored)
            last = end.messages_only[0] if end.messages_only else None
            _refuse_elsewhere(id, found is not None, last)
            assert last is not None
            record = None if found is None else stored.decoded(key, found, TurnRecord)
            chosen, state = taken_up(id, record, last)
            self._note([last])
            version = 0 if found is None else found.version
            along = [*self._lease.taking(id), put_record(chosen, version)]
            if last.home != stored.id:
                return await stored.store.put_documents(stored.owner, stored.id, along)
            new = again(last, id, state, stored.id)
            try:
                updated = await stored.store.update_message(
                    stored.owner, stored.id, new, expected_tip=end.leaf, documents=along
                )
            except StaleTipError as error:
                raise StaleVersionError(str(error)) from error  # look again: it goes on
            return updated.documents

        try:
            versions = await self._lease.take(write, self._wait_s, None)
        except BaseException as error:
            # It may have gone through, and there may be nobody yet who would leave the turn.
            self._record = chosen
            await AsyncCallerQueues.to_the_end(partial(self._break_off, error))
            self._record = None
            raise
        self._record = chosen
        self._lease.hold(versions[TURN_LEASE])

    async def _fenced(self, write: Callable[[], AsyncAnswer[Result]]) -> Result:
        """Do a write; who lost the lease is told why."""
        if self._lease.fence is None:
            raise UsageError("the turn is not begun: append what is to be answered", path="turn")
        if not self._lease.stopped:
            try:
                return await write()
            except LeaseLostError:
                if not await self._lease.find_own():
                    raise
        raise TurnStoppedError(f"the turn {self._open().id!r} was stopped: it writes nothing more")

    # how it ends

    async def _end(
        self, state: TurnState | None, reason: str | None = None, *, drop_unsaved: bool = False
    ) -> Message | None:
        """Write the turn's last message once more, or the rest of its answer, and let it go.

        Without a state, it is complete if that message answers it.
        """
        stored, record, answer = self._stored, self._open(), self._answer
        last: Message | NewMessage | None = None
        is_cut = False
        if answer is not None:
            await answer._halt()
        if answer is not None and answer.parts and not drop_unsaved:
            last, is_cut = answer._draft(), answer._is_cut
        elif answer is not None and answer._is_stored:
            # It began anew and nothing came yet, or is refused: what is stored of it is cut off.
            last, is_cut = await stored.find_message(answer.id), True
        elif self._last is not None:
            last = await stored.find_message(self._last)
        if state is None:
            is_whole = last is not None and answers_turn(last) and not is_cut
            state = "complete" if is_whole else "interrupted"
            reason = None if is_whole else "cut" if is_cut else "left"
        record = msgspec.structs.replace(
            record, state=state, last=None if last is None else last.id, reason=reason
        )
        along, message = ending(record, was_held=True), None
        if answer is not None and isinstance(last, NewMessage):
            message = await answer._put(state, along)
        elif isinstance(last, Message) and last.home == stored.id:
            new = again(last, record.id, state, stored.id)
            message = await self._session._replace(new, self._lease.fence, along)
        else:
            fence = self._lease.fence
            await stored.store.put_documents(stored.owner, stored.id, along, fence=fence)
        self._record, self._answer = record, None
        return message

    async def _leave(self, error: BaseException | None) -> None:
        """End it as it was left, and let it go."""
        try:
            await self._end_as_left(error)
        finally:
            await self._lease.end()

    async def _end_as_left(self, error: BaseException | None) -> None:
        if self._record is None or self._record.state != "open":
            return
        if error is None:
            if self._lease.fence is None and not await self._lease.find_own():
                return
            try:
                await self._fenced(lambda: self._end(None))
            except (TurnStoppedError, UsageError) as refusal:
                await self._break_off(refusal)
                raise
        else:
            await self._break_off(error)

    async def _break_off(self, error: BaseException) -> None:
        """Mark it interrupted, if it still has the lease; whoever takes the next turn would."""
        is_stopped = isinstance(error, TurnStoppedError)
        try:
            if self._lease.fence is None and not await self._lease.find_own():
                return
            reason = "stopped" if is_stopped else type(error).__name__
            try:
                await self._end("interrupted", reason)
            except LeaseLostError:
                if await self._lease.find_own():
                    await self._end("interrupted", "stopped")
            except UsageError:
                # The store refuses what came, as when it is too large: what it has is marked.
                await self._end("interrupted", reason, drop_unsaved=True)
        except SapwoodError:
            # What ended it is what its caller is to be told.
            logger.warning("a turn of %r is not marked yet", self._stored.id, exc_info=True)

    # the small

    def _marked(
        self, new: NewMessage, state: str, turn: str, sent: str | None = None
    ) -> NewMessage:
        return marked(new, turn, state, self._stored.id, sent)

    def _note(self, messages: Sequence[Message]) -> None:
        self._last = messages[-1].id

    def _open(self) -> TurnRecord:
        if self._record is None:
            raise UsageError("the turn is not begun: append what is to be answered", path="turn")
        return self._record

    def _refuse_unless_open(self, *, beside_answer: bool = False) -> None:
        if self._is_left:
            raise UsageError("the turn was left: begin another one", path="turn")
        if not self._is_entered:
            raise UsageError("the turn is not entered: use it in a with block", path="turn")
        if self._record is not None and self._record.state != "open":
            raise UsageError(f"the turn is {self._record.state}: begin another one", path="turn")
        if self._answer is not None and not beside_answer:
            raise UsageError("an answer is in work: finish it first", path="turn")


def _refuse_elsewhere(id: str, is_known: bool, last: Message | None) -> None:
    """Refuse to go on with a turn after messages that are none of its own."""
    if last is not None and (mark_of(last).get("id") == id or last.id == id):
        return
    if not is_known:
        raise NotFoundError(f"there is no turn {id!r} at the tip", kind="turn", id=id)
    raise StaleTipError(f"the session went on after the turn {id!r}: checkout its last message")

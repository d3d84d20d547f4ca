"""The lease on a session's turn: taken with a write, renewed, lost, stopped, and taken over."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec

from ...calls import AsyncAnswer
from ...errors import AlreadyExistsError, SessionBusyError, StaleVersionError
from ...model import (
    DocumentChange,
    DocumentDelete,
    DocumentPut,
    Fence,
    History,
    Message,
    Read,
    TurnRecord,
)
from ...stores.base.queues import AsyncCallerQueues
from ..heartbeat import AsyncHeartbeat
from ..stops import AsyncStops
from ..turn_documents import (
    OPEN_TURN,
    PARTIAL,
    TURN_LEASE,
    TURN_RECORDS,
    OpenTurn,
    TurnHolder,
    again,
    mark_of,
    put_open,
    put_record,
)
from .stored_session import AsyncStoredSession

Result = TypeVar("Result")

LEASE_S = 60.0
"""How long nobody else has the turn after a process ended; while it is at work, it renews it."""
STOP_S = 30.0
"""The same after it was stopped: its holder sees that when it next writes or renews."""
FIRST_PAUSE_S = 0.01
LONGEST_PAUSE_S = 0.25


class AsyncTurnLease:
    """The lease of one turn, from the write that takes it to the one that lets it go."""

    def __init__(self, stored: AsyncStoredSession) -> None:
        self._stored = stored
        # By it a lease is known again whose version was never told.
        self._mark = None if stored.setup.new_id is None else stored.setup.new_id()
        self._heartbeat: AsyncHeartbeat | None = None
        self._begun: AsyncHeartbeat | None = None
        self.fence: Fence | None = None
        self.stops = AsyncStops()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped from outside, as far as is known."""
        return self.stops.is_stopped

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it by now."""
        return self._begun is not None and self._begun.is_held and not self.stopped

    def taking(self, turn: str) -> list[DocumentChange]:
        """Return the changes by which a unit of work takes it, if nobody has it."""
        holder = TurnHolder(turn=turn, mark=self._mark)
        return [
            DocumentPut(
                key=TURN_LEASE,
                value=msgspec.json.encode(holder),
                expected_version=0,
                expires_in_s=LEASE_S,
                inherit=False,
            ),
            put_open(OpenTurn(turn=turn), 0),
        ]

    async def take(
        self, write: Callable[[], AsyncAnswer[Result]], wait_s: float, new: str | None
    ) -> Result:
        """Do the write that takes it, when whoever has it is done, or dead.

        `SessionBusyError` after so many seconds. `new` is the id of a turn that must be new.
        """
        until, pause = time.monotonic() + wait_s, FIRST_PAUSE_S
        while True:
            self._heartbeat = AsyncHeartbeat(LEASE_S)
            try:
                return await write()
            except StaleVersionError:
                busy = await holder_of(self._stored)
                if busy is None and not await mark_left(self._stored) and new is not None:
                    await self._refuse_begun(new)
            while busy is not None:
                if time.monotonic() >= until:
                    raise SessionBusyError(
                        f"session {self._stored.id!r} is in the turn {busy.turn!r}: try again "
                        "later, give a longer wait_s, or stop it by stop_turn()"
                    )
                await AsyncCallerQueues.pause(pause)
                pause = min(1.5 * pause, LONGEST_PAUSE_S)
                busy = await holder_of(self._stored)

    async def _refuse_begun(self, turn: str) -> None:
        if await self._stored.find_document(TURN_RECORDS + turn) is not None:
            raise AlreadyExistsError(
                f"the turn {turn!r} was begun before: take it up by turn(resume={turn!r})"
            )

    def hold(self, version: int | None = None) -> None:
        """Renew it from now on: at a version, or as it was found."""
        if version is not None:
            self.fence = Fence(key=TURN_LEASE, version=version)
        if self._heartbeat is not None and self._begun is None:
            self._begun = self._heartbeat
            self._begun.start(self._renew)

    async def find_own(self) -> bool:
        """Find out whether the stored lease is this one's, and whether it was stopped."""
        document = await self._stored.find_document(TURN_LEASE)
        holder = (
            None if document is None else self._stored.decoded(TURN_LEASE, document, TurnHolder)
        )
        if document is None or holder is None or self._mark is None or holder.mark != self._mark:
            return False
        if holder.stopped:
            self.stops.stop()
        self.fence = Fence(key=TURN_LEASE, version=document.version)
        return True

    async def _renew(self) -> None:
        assert self.fence is not None
        try:
            await self._stored.store.renew_document(
                self._stored.owner,
                TURN_LEASE,
                session=self._stored.id,
                expected_version=self.fence.version,
                expires_in_s=LEASE_S,
            )
        except StaleVersionError:
            await self.find_own()
            raise

    async def end(self) -> None:
        """Renew it no more."""
        if self._begun is not None:
            await self._begun.stop()


async def holder_of(stored: AsyncStoredSession) -> TurnHolder | None:
    """Return who has the turn; None when nobody has it, or its time is over."""
    document = await stored.find_document(TURN_LEASE)
    return None if document is None else stored.decoded(TURN_LEASE, document, TurnHolder)


async def stop(stored: AsyncStoredSession) -> bool:
    """Stop the turn that is at work; return whether there was one.

    The lease gets another version: what its holder writes is refused from now on.
    """
    while True:
        document = await stored.find_document(TURN_LEASE)
        if document is None:
            return False
        holder = msgspec.structs.replace(
            stored.decoded(TURN_LEASE, document, TurnHolder), stopped=True
        )
        # It was let go, or taken, meanwhile: look again.
        with suppress(StaleVersionError):
            await stored.store.put_document(
                stored.owner,
                TURN_LEASE,
                msgspec.json.encode(holder),
                session=stored.id,
                expected_version=document.version,
                expires_in_s=STOP_S,
                inherit=False,
            )
            return True


async def mark_left(stored: AsyncStoredSession) -> bool:
    """Mark the turn that a process left when it died, if there is one; return whether there was.

    All of it is one unit of work, which takes away its lease, too: who only slept loses it here.
    """
    document = await stored.find_document(OPEN_TURN)
    if document is None:
        return False
    left = stored.decoded(OPEN_TURN, document, OpenTurn)
    key = TURN_RECORDS + left.turn
    found = await stored.find_document(key)
    last = await _last_of(stored, left)
    record = msgspec.structs.replace(
        stored.decoded(key, found, TurnRecord),
        id=left.turn,
        state="interrupted",
        reason="died",
        last=None if last is None else last.id,
    )
    changes: list[DocumentChange] = [
        DocumentDelete(key=TURN_LEASE, expected_version=0),
        DocumentDelete(key=OPEN_TURN, expected_version=document.version),
        put_record(record, 0 if found is None else found.version),
    ]
    with suppress(StaleVersionError):  # somebody else was faster
        if last is None or last.home != stored.id:
            await stored.store.put_documents(stored.owner, stored.id, changes)
        else:
            new = again(last, left.turn, "interrupted", stored.id)
            await stored.store.update_message(stored.owner, stored.id, new, documents=changes)
    return True


async def _last_of(stored: AsyncStoredSession, left: OpenTurn) -> Message | None:
    """Return the message at which a turn was cut off: the one in work, or else the last one."""
    if left.answer is not None:
        answer = await stored.find_message(left.answer)
        if answer is not None and mark_of(answer).get("state") == PARTIAL:
            return answer
    end = (await end_of_path(stored)).messages_only
    return end[0] if end and mark_of(end[0]).get("id") == left.turn else None


async def end_of_path(stored: AsyncStoredSession) -> History:
    """Read the last message on the path to the tip."""
    return await stored.read(Read(overlays=False, limit=1, backwards=True))

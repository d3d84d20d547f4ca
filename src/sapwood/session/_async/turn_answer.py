"""An answer in pieces, kept in the store as one message while it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...calls import AsyncCall
from ...errors import MessageConflictError, UsageError
from ...model import DocumentChange, Message, NewMessage
from ..content import Content, new_message, parts_of
from ..partial_answer import PartialAnswer
from ..turn_documents import PARTIAL, OpenTurn, mark_of, put_open

if TYPE_CHECKING:
    from .turn_core import AsyncTurnCore


@AsyncCall.reminding
class AsyncTurnAnswer(PartialAnswer):
    """One message that grows: what is added is stored by `save`, when that is due, and at its end.

    Others read it meanwhile, marked as partial. What is never finished is marked as cut off.
    """

    _is_cut = False
    """Whether it is not whole when the turn is left without a word."""

    def __init__(
        self,
        turn: AsyncTurnCore,
        id: str,
        role: str,
        interval_s: float,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(interval_s, clock)
        self._id = id
        self._turn = turn
        self._role = role
        self._metadata: dict[str, Any] | None = None
        self._is_stored = False

    @property
    def id(self) -> str:
        """The message's id, from the beginning."""
        return self._id

    async def save(self) -> Message | None:
        """Store what there is by now, if anything is new; return the message as it was written."""
        turn = self._turn
        self._refuse_unless_here()
        return None if self.is_saved else await turn._fenced(lambda: self._put(PARTIAL))

    async def finish(
        self, content: Content | None = None, *, metadata: dict[str, Any] | None = None
    ) -> Message:
        """Store all of it; the turn goes on. A `content` stands in place of what was added."""
        self._settle(content, metadata)
        message = await self._turn._fenced(lambda: self._put("open"))
        self._turn._note([message])
        self._turn._answer = None
        return message

    async def complete(
        self, content: Content | None = None, *, metadata: dict[str, Any] | None = None
    ) -> Message | None:
        """Store all of it, complete the turn and let it go, in one unit of work."""
        self._settle(content, metadata)
        return await self._turn._fenced(lambda: self._turn._end("complete"))

    def _settle(self, content: Content | None, metadata: dict[str, Any] | None) -> None:
        self._refuse_unless_here()
        if content is not None:
            (self._parts, kept), self._pieces = parts_of(content, self._role), []
            if kept:
                metadata = {**((self._metadata if metadata is None else metadata) or {}), **kept}
        if metadata is not None:
            self._metadata = metadata
        if not self.parts:
            raise UsageError("the answer is empty: add what it says", path="content")

    def _refuse_unless_here(self) -> None:
        self._turn._refuse_unless_open(beside_answer=True)
        if self._turn._answer is not self:
            raise UsageError("the answer is finished: begin another one", path="answer")

    async def _halt(self) -> None:
        """Wait for what is under way, and write no more by itself."""

    def _draft(self) -> NewMessage:
        """Return it as far as it is there."""
        counter = self._turn._stored.setup.counter
        return new_message(self._role, self.parts, counter, id=self.id, metadata=self._metadata)

    async def _put(self, state: str, along: Sequence[DocumentChange] = ()) -> Message:
        """Write it with what comes along: as a new message, or in place of what is there."""
        turn, unsaved = self._turn, self._unsaved
        record = turn._open()
        [new] = await turn._session._cleaned([self._draft()])
        new = turn._marked(new, state, record.id)
        if not self._is_stored:
            message = await self._put_first(new, along, record.id)
            self._is_stored = True
            if message is not None:
                self._saved(unsaved)
                return message
        message = await turn._session._replace(new, turn._lease.fence, along)
        turn._session._pairs.note([message])
        self._saved(unsaved)
        return message

    async def _put_first(
        self, new: NewMessage, along: Sequence[DocumentChange], turn_id: str
    ) -> Message | None:
        """Append it; None if that was done before, by a write whose outcome was not told."""
        turn = self._turn
        if not along:
            # Whoever finds the turn left looks there, wherever the tip is by then.
            along = [put_open(OpenTurn(turn=turn_id, answer=self.id))]
        try:
            appended = await turn._send([new], along)
        except MessageConflictError:
            found = await turn._stored.find_message(self.id)
            if found is None or mark_of(found).get("id") != turn_id:
                raise
            return None
        if not appended.written:
            return None
        await turn._session._after_append(appended)
        return appended.messages[0]

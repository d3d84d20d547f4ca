"""A turn: a user's message and all that answers it, by one process at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from msgspec import UNSET, UnsetType

from ...calls import AsyncCall
from ...errors import UsageError
from ...event_loop import AsyncEntering
from ...model import Message, ModelInput, NewMessage, ToolDefinition, TurnState, Usage
from ...rules import check
from ...stores.base.queues import AsyncCallerQueues
from ..content import Content, MessageDraft, as_new_message, new_message, new_messages
from ..partial_answer import INTERVAL_S
from ..references import MessageRef, PlaceRef, id_of
from ..turn_documents import turn_id_of
from .turn_answer import AsyncTurnAnswer
from .turn_core import AsyncTurnCore

if TYPE_CHECKING:
    from .answer_stream import AsyncAnswerStream
    from .session import AsyncSession
    from .turn_stream import AsyncTurnStream


@AsyncCall.reminding
class AsyncTurn(AsyncTurnCore, AsyncEntering):
    """A turn, which its first append begins. Every write is refused once another may have it.

    A write raises `TurnStoppedError` when the turn was stopped from outside, and `LeaseLostError`
    when it was taken over, or the session was closed or cleared.
    """

    def __init__(self, session: AsyncSession, resume: MessageRef | None, wait_s: float) -> None:
        if isinstance(wait_s, bool) or not isinstance(wait_s, (int, float)) or not wait_s >= 0:
            raise UsageError(f"wait_s must be a number of seconds, not {wait_s!r}", path="wait_s")
        super().__init__(session, wait_s)
        self._stream: AsyncTurnStream | None = None
        self._resume = None if resume is None else turn_id_of(resume)

    @property
    def id(self) -> str | None:
        """The turn's id, which is that of its first message; None before that is appended."""
        return None if self._record is None else self._record.id

    @property
    def state(self) -> TurnState | None:
        """How it stands, as far as this object knows; None before the first append."""
        return None if self._record is None else self._record.state

    @property
    def attempts(self) -> int:
        """The number of this attempt, from 1."""
        return 1 if self._record is None else self._record.attempts

    @property
    def stopped(self) -> bool:
        """Whether it was stopped from outside, as far as is known: a write finds out at once."""
        return self._lease.stopped

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have the session's turn by now."""
        return self._lease.is_held and self.state == "open"

    async def __aenter__(self) -> Self:
        """Take a turn up that is to be resumed; a new one is begun by its first append."""
        if self._is_entered:
            raise UsageError("the turn was entered before: begin another one", path="turn")
        self._is_entered = True
        if self._resume is not None:
            await self._take_up(self._resume)
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """Complete it if its last message answers it, or mark it interrupted."""
        self._is_left = True
        try:
            # Who is cancelled may be so again and again, as by anyio, until it is gone.
            await AsyncCallerQueues.to_the_end(lambda: self._leave(error))
        finally:
            if self._stream is not None:
                await self._stream._let_go()

    # what is written

    async def append(
        self,
        role: str | NewMessage | Mapping[str, Any],
        content: Content | None = None,
        *,
        id: str | None = None,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
        sent: str | None = None,
    ) -> Message:
        """Append a message, as `Session.append` does; the first one begins the turn.

        `sent` is what the model is sent beside a user's message: it is kept, sent again in later
        turns, and is not what the user said. A first message that is stored already takes its turn
        up again: `AlreadyExistsError` when that is complete. `SessionBusyError` when another
        turn goes on for longer than `wait_s`.
        """
        counter = self._stored.setup.counter
        new = as_new_message(role, content, counter, id=id, name=name, metadata=metadata)
        self._refuse_unless_open()
        return (await self._append([new], parent, expected_tip, sent=sent))[0]

    async def append_all(
        self,
        messages: Sequence[MessageDraft],
        *,
        parent: PlaceRef | None = None,
        expected_tip: PlaceRef | None = None,
    ) -> list[Message]:
        """Append several messages, all or none, as `Session.append_all` does."""
        new = new_messages(messages, self._stored.setup.counter)
        self._refuse_unless_open()
        return await self._append(new, parent, expected_tip)

    async def update(
        self,
        message: MessageRef,
        content: Content | None = None,
        *,
        role: str | None = None,
        name: str | UnsetType | None = UNSET,
        metadata: dict[str, Any] | None = None,
    ) -> Message:
        """Change a message, as `Session.update` does."""
        self._refuse_unless_open()
        new = await self._session._changed(message, content, role, name, metadata)
        return await self._fenced(lambda: self._session._replace(new, self._lease.fence))

    async def edit(
        self, message: MessageRef, content: Content, *, id: str | None = None
    ) -> Message:
        """Write a message anew, on a branch beside the old one, as `Session.edit` does."""
        self._refuse_unless_open()
        old = await self._stored.get_message(id_of(message))
        above = await self._stored.get_parent(old.id)
        new = new_message(old.role, content, self._stored.setup.counter, id=id, name=old.name)
        return (await self._append([new], above))[0]

    def answer(
        self, role: str = "assistant", *, id: str | None = None, interval_s: float = INTERVAL_S
    ) -> AsyncTurnAnswer:
        """Begin an answer that comes in pieces; see `TurnAnswer`. One at a time."""
        id = self._new_answer(id)
        self._answer = AsyncTurnAnswer(self, id, role, interval_s, time.monotonic)
        return self._answer

    def stream(
        self,
        response: Any,
        *,
        model: str = "",
        id: str | None = None,
        interval_s: float = INTERVAL_S,
    ) -> AsyncTurnStream:
        """Hand on a vendor's stream as typed events, and keep the answer while it comes.

        `response` and `model` are as for `EventStream`. What came is stored every `interval_s`
        seconds, and at the end; usage is recorded. See `TurnStream`.
        """
        from .turn_stream import AsyncTurnStream

        id = self._new_answer(id)
        stream = AsyncTurnStream(self, id, response, model, interval_s, time.monotonic)
        self._stream, self._answer = stream, stream._answer
        return stream

    def _asked(
        self, response: Any, model: str, priced: Callable[[Usage], Usage]
    ) -> AsyncAnswerStream:
        """Stream what a model gave into the answer in work, which begins anew; it stays in work."""
        from .answer_stream import AsyncAnswerStream

        before = self._answer
        assert before is not None
        fields = (self, before.id, response, model, INTERVAL_S, time.monotonic, priced)
        stream = AsyncAnswerStream(*fields)
        stream._answer._is_stored = before._is_stored
        self._answer = stream._answer
        return stream

    def _new_answer(self, id: str | None) -> str:
        self._refuse_unless_open()
        self._open()
        new_id = self._stored.setup.new_id
        if id is None and new_id is None:
            raise UsageError("a session from a builder needs an id for an answer", path="id")
        id = new_id() if id is None and new_id is not None else str(id)
        check.name(id, "id")
        return id

    async def complete(
        self,
        role: str | NewMessage | Mapping[str, Any] | None = None,
        content: Content | None = None,
        *,
        id: str | None = None,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Message | None:
        """Append the message that ends the turn, and let it go in the same unit of work.

        Without one, the answer in work is the last, or what was last appended.
        """
        return await self._finish("complete", role, content, id, name, metadata)

    async def wait_for_approval(
        self,
        role: str | NewMessage | Mapping[str, Any] | None = None,
        content: Content | None = None,
        *,
        id: str | None = None,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Message | None:
        """Let the turn go, to be taken up by `Session.turn(resume=…)`, also after a restart.

        As for `complete`, the message that it waits at may be appended in the same unit.
        """
        return await self._finish("waiting", role, content, id, name, metadata)

    async def interrupt(self, reason: str) -> Message | None:
        """End the turn without an answer, and let it go; `reason` is kept in its record."""
        check.name(reason, "reason")
        self._refuse_unless_open(beside_answer=True)
        self._open()
        return await self._fenced(lambda: self._end("interrupted", reason))

    async def prepare(
        self,
        *,
        leaf: PlaceRef | None = None,
        budget: int | None = None,
        tools: Sequence[ToolDefinition] = (),
    ) -> ModelInput:
        """Return what the model is called with, as `Session.prepare` does."""
        return await self._session.prepare(leaf=leaf, budget=budget, tools=tools)

    async def _finish(
        self,
        state: TurnState,
        role: str | NewMessage | Mapping[str, Any] | None,
        content: Content | None,
        id: str | None,
        name: str | None,
        metadata: dict[str, Any] | None,
    ) -> Message | None:
        if role is None:
            if any(it is not None for it in (content, id, name, metadata)):
                raise UsageError("a message needs a role: complete(role, content)", path="role")
            self._refuse_unless_open(beside_answer=True)
            self._open()
            return await self._fenced(lambda: self._end(state))
        self._refuse_unless_open()
        counter = self._stored.setup.counter
        new = as_new_message(role, content, counter, id=id, name=name, metadata=metadata)
        return (await self._append([new], state=state))[0]

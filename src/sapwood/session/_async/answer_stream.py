"""A model's answer on its way: handed on as events, and kept in the store while it grows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ...errors import ConflictError
from ...event_loop import AsyncEntering
from ...model import NewMessage, Part, Usage
from ...stores.base.queues import AsyncCallerQueues
from ...streaming import (
    AsyncEventStream,
    CallEvent,
    DoneEvent,
    PartEvent,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)
from ..content import as_new_message
from ..saver import AsyncSaver
from .turn_answer import AsyncTurnAnswer

if TYPE_CHECKING:
    from .turn_core import AsyncTurnCore

PIECES = (TextEvent, ReasoningEvent, RefusalEvent)
WHOLE = (CallEvent, PartEvent)


class AsyncAnswerStream(AsyncEntering):
    """The events of an answer, which is stored as it grows. Leaving it closes the response.

    When it is over, however that came, what it cost is recorded, and the answer is in work: it is
    its user's to end it. `priced` says what to record of the cost, once.
    """

    def __init__(
        self,
        turn: AsyncTurnCore,
        id: str,
        response: Any,
        model: str,
        interval_s: float,
        clock: Callable[[], float],
        priced: Callable[[Usage], Usage] | None = None,
    ) -> None:
        self._events = AsyncEventStream(response, model=model)
        self._turn = turn
        self._priced = priced
        self._answer = AsyncStreamedAnswer(turn, id, self._events, interval_s, clock)
        self._flow = self._read()
        self._usage: Usage | None = None
        self._is_counted = False

    @property
    def id(self) -> str:
        """The id of the answer's message, from the beginning."""
        return self._answer.id

    @property
    def message(self) -> NewMessage:
        """The answer as far as it came, without calls that are not complete."""
        return self._answer._draft()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self._flow

    async def __anext__(self) -> StreamEvent:
        return await anext(self._flow)

    async def aclose(self) -> None:
        """Close the response; an answer that is not whole is marked as cut off."""
        await self._close(None)

    async def __aenter__(self) -> Self:
        """Return the stream itself."""
        return self

    async def __aexit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        """Close the response; an answer that is not whole is marked as cut off."""
        await self._close(error)

    async def _read(self) -> AsyncGenerator[StreamEvent, None]:
        answer, stops, events = self._answer, self._turn._lease.stops, self._events.__aiter__()
        try:
            while True:
                with stops:
                    event = await anext(events, None)
                if event is None:
                    return
                if isinstance(event, PIECES):
                    if answer._grow(len(event.text)):
                        await answer._saver.wake()
                elif isinstance(event, WHOLE):
                    if answer._grow(1):
                        await answer._saver.wake()
                elif isinstance(event, DoneEvent):
                    await AsyncCallerQueues.to_the_end(self._settle)
                    await self._finish(event)
                yield event
        except GeneratorExit:
            raise  # Whoever left the loop leaves the stream, or the turn, next.
        except BaseException as error:
            await AsyncCallerQueues.to_the_end(partial(self._break_off, error))
            raise
        finally:
            await self._events.aclose()

    async def _close(self, error: BaseException | None) -> None:
        try:
            await self._flow.aclose()
            await self._events.aclose()
        finally:
            await AsyncCallerQueues.to_the_end(partial(self._break_off, error))

    async def _finish(self, event: DoneEvent) -> None:
        """End an answer that is over, before anybody is told of it."""

    async def _break_off(self, error: BaseException | None) -> None:
        """Break off an answer that failed, or was left."""
        await self._settle()

    async def _settle(self) -> None:
        """Store no more by itself, and record what it cost: that is spent, whatever comes."""
        await self._answer._halt()
        usage, is_counted = self._events.usage, self._is_counted
        self._is_counted = True
        if usage is None or is_counted:
            return
        usage = msgspec.structs.replace(usage, message=self.id)
        self._usage = usage = usage if self._priced is None else self._priced(usage)
        stored = self._turn._stored
        try:
            await stored.store.add_usage(stored.owner, stored.id, usage)
        except ConflictError:
            # Some servers give several answers one id.
            new_id = stored.setup.new_id
            own = msgspec.structs.replace(usage, id=self.id if new_id is None else new_id())
            with suppress(ConflictError):
                await stored.store.add_usage(stored.owner, stored.id, own)

    async def _measure(self) -> None:
        """Measure the context by what the answer cost, once it is stored."""
        if self._usage is not None:
            await self._turn._session._context().size.report(self._usage)


class AsyncStreamedAnswer(AsyncTurnAnswer):
    """The message of a stream."""

    _is_cut = True

    def __init__(
        self,
        turn: AsyncTurnCore,
        id: str,
        events: AsyncEventStream,
        interval_s: float,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(turn, id, "assistant", interval_s, clock)
        self._events = events
        self._saver = AsyncSaver(self.save, self._wait_s)

    @property
    def parts(self) -> list[Part]:
        """All that there is by now."""
        return self._events.message.parts

    def _draft(self) -> NewMessage:
        counter = self._turn._stored.setup.counter
        new = as_new_message(self._events.message, None, counter)
        metadata = {**new.metadata, **(self._metadata or {})}
        return msgspec.structs.replace(new, id=self.id, metadata=metadata)

    async def _halt(self) -> None:
        await self._saver.stop()

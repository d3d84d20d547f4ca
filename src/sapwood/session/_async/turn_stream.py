"""A model's answer on its way through a turn: handed on as events, and kept in the store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import msgspec

from ...errors import ConflictError
from ...model import NewMessage, Part, Usage
from ...rules.turns import answers_turn
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


class AsyncTurnStream:
    """The events of an answer, which is stored as it grows, and whole before its `DoneEvent`.

    An answer completes the turn, unless it calls tools, which go on with it. One that is not whole
    (it failed, was cut, or is not read to its end) leaves the turn interrupted; if nothing came of
    it, the turn stays open, to ask again. Leaving it closes the response.
    """

    def __init__(
        self,
        turn: AsyncTurnCore,
        id: str,
        response: Any,
        model: str,
        interval_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._events = AsyncEventStream(response, model=model)
        self._turn = turn
        self._answer = AsyncStreamedAnswer(turn, id, self._events, interval_s, clock)
        self._flow = self._read()

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
        answer = self._answer
        try:
            async for event in self._events:
                if isinstance(event, PIECES):
                    if answer._grow(len(event.text)):
                        await answer._saver.wake()
                elif isinstance(event, WHOLE):
                    if answer._grow(1):
                        await answer._saver.wake()
                elif isinstance(event, DoneEvent):
                    await self._finish(event)
                yield event
        except GeneratorExit:
            raise  # Whoever left the loop leaves the stream, or the turn, next.
        except BaseException as error:
            await self._break_off(error)
            raise
        finally:
            await self._events.aclose()

    async def _finish(self, event: DoneEvent) -> None:
        """Write the last of it, before anybody is told that it is done."""
        turn, answer = self._turn, self._answer
        await answer._halt()
        await self._count(event.usage)
        if not event.message.parts:
            turn._answer = None
        elif event.reason in ("cut", "error"):
            await turn._fenced(lambda: turn._end("interrupted", event.reason))
        else:
            if event.reason == "pause" or not answers_turn(event.message):
                await answer.finish()
            else:
                await answer.complete()
            if event.usage is not None:
                usage = msgspec.structs.replace(event.usage, message=self.id)
                await turn._session._context().size.report(usage)

    async def _let_go(self) -> None:
        """Close the response of a stream that was left when its turn was."""
        with suppress(RuntimeError):  # Whoever is still reading it will close it.
            await self._flow.aclose()
            await self._events.aclose()

    async def _close(self, error: BaseException | None) -> None:
        turn = self._turn
        await self._flow.aclose()
        await self._events.aclose()
        if error is not None or not self._is_in_work or not self._answer.parts:
            await self._break_off(error)
            return
        await self._answer._halt()
        await self._count(self._events.usage)
        await turn._fenced(lambda: turn._end("interrupted", "cut"))

    async def _break_off(self, error: BaseException | None) -> None:
        """Mark an answer that failed."""
        if not self._is_in_work:
            return
        await self._answer._halt()
        await self._count(self._events.usage)
        if error is None or not self._answer.parts:
            self._turn._answer = None
        else:
            await self._turn._break_off(error)

    @property
    def _is_in_work(self) -> bool:
        return self._turn._answer is self._answer

    async def _count(self, usage: Usage | None) -> None:
        """Record what it cost before its end is stored: that is spent, whatever comes."""
        stored = self._turn._stored
        if usage is not None:
            usage = msgspec.structs.replace(usage, message=self.id)
            # A server that gives one id to several answers must not cost any of them.
            with suppress(ConflictError):
                await stored.store.add_usage(stored.owner, stored.id, usage)


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
        return msgspec.structs.replace(new, id=self.id)

    async def _halt(self) -> None:
        await self._saver.stop()

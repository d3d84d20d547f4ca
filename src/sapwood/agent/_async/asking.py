"""One answer of a model: streamed, and asked for again where that helps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec

from ...calls import AsyncCall
from ...compaction import is_context_overflow
from ...errors import ContextOverflowError, ModelFailedError, SapwoodError
from ...model import ModelInput, ToolCallPart, Usage
from ...session._async.answer_stream import AsyncAnswerStream
from ...stores.base.queues import AsyncCallerQueues
from ...streaming import CallEvent, DoneEvent, ErrorEvent, StreamEvent
from ...streaming.any_answer import AsyncAnyAnswer
from ...vendors.retries import is_retryable, wait_s

if TYPE_CHECKING:
    from .run import AsyncAgentRun

BEGINS_ANEW = "The answer was cut off, and begins anew."


class AsyncAsking:
    """Asks a run's model once, and again after what passes, or when the input was too long.

    The answer is in work, and its run's to end: `done` says how it came out. Without that, the run
    has spent too much to ask again.
    """

    def __init__(self, run: AsyncAgentRun) -> None:
        self._run = run
        self._settings = run.settings
        self._turn = run.turn
        self._turn.answer()
        self._stream: AsyncAnswerStream | None = None
        self._has_made_room = False
        self._attempt = 0
        self.calls: list[ToolCallPart] = []
        self.done: DoneEvent | None = None

    @property
    def stream(self) -> AsyncAnswerStream:
        """The answer's last attempt."""
        assert self._stream is not None
        return self._stream

    async def events(self) -> AsyncIterator[StreamEvent]:
        """Yield the events but the last, which is `done`."""
        given = await self._given()
        while True:
            is_told = False
            try:
                attempt: Any = self._told(given)
                async with aclosing(attempt) as events:
                    async for event in events:
                        is_told = True
                        yield event
                return
            except Exception as error:
                if not await self._mended(error):
                    raise
                is_too_long = is_context_overflow(error)
            if self._run.spent.limit(self._settings):
                return
            if is_told:
                yield ErrorEvent(message=BEGINS_ANEW, code="retry")
            if is_too_long:
                given = await self._given()

    async def _given(self) -> ModelInput:
        """Prepare what the model is given; the answer in work is no part of it."""
        answer, settings = self._turn._answer, self._settings
        leaf = self._turn._last if answer is not None and answer._is_stored else None
        given = await self._turn.prepare(
            leaf=leaf, budget=settings.budget, tools=settings.definitions
        )
        given = settings.instruct(given)
        if settings.before_respond is not None:
            changed = await AsyncCall.now(settings.before_respond, self._run, given)
            given = given if changed is None else changed
        return given

    async def _told(self, given: ModelInput) -> AsyncIterator[StreamEvent]:
        """Call the model, and hand on what comes."""
        model, in_thread, done = self._settings.model, self._settings.in_thread, None
        self.calls = []
        with self._turn._lease.stops:
            response = await AsyncCall.within(None, model, given, in_thread=in_thread)
        self._stream = self._turn._asked(
            AsyncAnyAnswer.stream(response, in_thread=in_thread),
            getattr(model, "name", ""),
            self._priced,
        )
        async with self._stream as events:
            async for event in events:
                if isinstance(event, ErrorEvent):
                    raise ModelFailedError(f"{event.message} ({event.code})", said=event.code)
                if isinstance(event, DoneEvent):
                    done = event
                    continue
                if isinstance(event, CallEvent):
                    self.calls.append(event.part)
                yield event
        if done is None or done.reason == "cut":
            raise ModelFailedError("the model's stream ended before its answer did")
        self.done = done

    def _priced(self, usage: Usage) -> Usage:
        """Say what an attempt cost, and count it as spent."""
        if self._settings.price is not None:
            usage = msgspec.structs.replace(usage, cost_micros=self._settings.price(usage))
        self._run.spent.add(usage)
        return usage

    async def _mended(self, error: Exception) -> bool:
        """Whether the model may be asked again, after room was made, or a while."""
        if is_context_overflow(error):
            if self._has_made_room:
                raise ContextOverflowError(
                    "the model says that the input is too long, even after a compaction: give a "
                    "smaller budget, or protect fewer messages from compaction"
                ) from error
            self._has_made_room = True
            await self._run.session._context().model.make_room(error)
            return True
        is_ours = isinstance(error, SapwoodError) and not isinstance(error, ModelFailedError)
        if is_ours or self._attempt >= self._settings.retries or not is_retryable(error):
            return False
        with self._turn._lease.stops:
            await AsyncCallerQueues.pause(wait_s(error, self._attempt))
        self._attempt += 1
        return True

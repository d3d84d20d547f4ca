"""One answer of a model: streamed, stored as it grows, asked for again where that helps."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ...calls import AsyncCall
from ...compaction import is_context_overflow
from ...errors import ContextOverflowError, ModelFailedError, SapwoodError, TurnStoppedError
from ...model import ModelInput, ToolCallPart
from ...stores.base.queues import AsyncCallerQueues
from ...streaming import (
    CallEvent,
    DoneEvent,
    ErrorEvent,
    PartEvent,
    ReasoningEvent,
    StreamEvent,
    TextEvent,
)
from ..retries import is_retryable, wait_s
from ..together import AsyncTogether

if TYPE_CHECKING:
    from .run import AsyncAgentRun

BEGINS_ANEW = "The answer was cut off, and begins anew."


class AsyncAsking:
    """Asks a run's model once, and again after what passes, or when the input was too long."""

    def __init__(self, run: AsyncAgentRun) -> None:
        self._run = run
        self._settings = run.settings
        self._turn = run.turn
        self.answer = run.turn.answer()
        self.calls: list[ToolCallPart] = []
        self.done: DoneEvent | None = None
        self._is_told = False
        self._has_made_room = False
        self._attempt = 0

    async def events(self) -> AsyncIterator[StreamEvent]:
        """Yield the events but the last, which is `done` when it is over."""
        given = await self._given()
        while True:
            try:
                stream: Any = self._stream(given)
                async with aclosing(stream) as events:
                    async for event in events:
                        yield event
                return
            except Exception as error:
                if not await self._mended(error):
                    raise
                is_too_long = is_context_overflow(error)
            self.answer.restart()
            self.calls = []
            if self._is_told:
                self._is_told = False
                yield ErrorEvent(message=BEGINS_ANEW, code="retry")
            if is_too_long:
                given = await self._given()

    async def _given(self) -> ModelInput:
        """Prepare what the model is given; the answer in work is no part of it."""
        leaf = self._turn._last if self.answer._is_stored else None
        settings = self._settings
        given = await self._turn.prepare(
            leaf=leaf, budget=settings.budget, tools=settings.definitions
        )
        given = settings.instruct(given)
        if settings.before_respond is not None:
            changed = await AsyncCall.now(settings.before_respond, self._run, given)
            given = given if changed is None else changed
        return given

    async def _stream(self, given: ModelInput) -> AsyncIterator[StreamEvent]:
        """Call the model, and keep what comes."""
        model, done = self._settings.model, None
        response = await AsyncCall.within(None, model, given)
        async with AsyncTogether.stream(response, getattr(model, "name", "")) as events:
            async for event in events:
                if self._turn.stopped:
                    raise TurnStoppedError("the turn was stopped: it writes nothing more")
                if isinstance(event, ErrorEvent):
                    raise ModelFailedError(f"{event.message} ({event.code})", said=event.code)
                if isinstance(event, DoneEvent):
                    done = event
                    continue
                self._is_told = True
                if self._add(event):
                    await self.answer.save()
                yield event
        if done is None or done.reason == "cut":
            raise ModelFailedError("the model's stream ended before its answer did")
        self.done = done

    def _add(self, event: StreamEvent) -> bool:
        """Add to the stored answer; return whether it is time to store it."""
        match event:
            case TextEvent(text=text):
                return self.answer.add_text(text)
            case ReasoningEvent(text=text):
                return self.answer.add_reasoning(text)
            case CallEvent(part=call):
                self.calls.append(call)
                return self.answer.add_part(call)
            case PartEvent(part=part):
                return self.answer.add_part(part)
        return False

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
        await AsyncCallerQueues.pause(wait_s(error, self._attempt))
        self._attempt += 1
        return True

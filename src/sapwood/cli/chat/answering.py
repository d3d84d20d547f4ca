"""An answer in a chat: a run of an agent, of which the screen is told, and which Ctrl-C stops."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeVar

import msgspec

from ...agent import Agent, AgentRun, AgentStream
from ...errors import ContextOverflowError, ModelFailedError, SapwoodError
from ...model import AppendEvent, Message, ModelInput, ToolResultPart, UpdateEvent, Usage
from ...streaming import (
    CallEvent,
    DoneEvent,
    ErrorEvent,
    PartEvent,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)
from ...streaming.quiet import Quiet
from ..interrupts import held_interrupts
from .conversation import Conversation
from .meter import Meter
from .models import RETRIES, ChatModel
from .screen import Screen

T = TypeVar("T")

TICK_S = 0.25
# An endpoint may send a whole page of HTML as its error.
MOST_TOLD = 500
_CUT_OFF = {
    "length": "the limit on its length",
    "content_filter": "the endpoint's filter",
    "steps": "the limit on rounds of tools",
    "stopped": "another process",
}


class AnswerState(enum.Enum):
    """How far an answer came."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    CUT_OFF = "cut_off"
    FAILED = "failed"


class Answering:
    """Lets one model answer in one conversation.

    While it does, Ctrl-C is held back, and heard only where the model is waited for.
    """

    def __init__(
        self, conversation: Conversation, model: ChatModel, screen: Screen, meter: Meter
    ) -> None:
        self.name = model.name
        self._conversation = conversation
        self._model = model
        self._screen = screen
        self._meter = meter
        self._let_through: Callable[[], None] = lambda: None
        self._run: AgentRun | None = None
        # The answer that the model is giving, or gave last, and whether any of it is stored.
        self._id: str | None = None
        self._is_asked = False
        self._is_stored = False
        self._calls: dict[str, str] = {}
        self._session = conversation.answering(self._note_stored, self._heard)
        self._agent = Agent(
            self, name="chat", price=meter.cost, retries=RETRIES, before_respond=self._begin
        )

    def answer(self, text: str | None) -> AnswerState:
        """Answer what the user says, or said last."""
        for is_last in (False, True):
            try:
                return self._answer(None if is_last else text)
            except ContextOverflowError as error:
                why = _in_words(error.__cause__ or error)
            if is_last or not self._conversation.make_room():
                break
        return self._fail(why)

    def __call__(self, given: ModelInput) -> Iterator[Any]:
        """Ask the model, as the agent does."""

        def pieces() -> Iterator[Any]:
            with closing(self._model.ask(given)) as response:
                yield from response

        return self._heard(pieces())

    def _answer(self, text: str | None) -> AnswerState:
        session, agent = self._session, self._agent
        stream = (
            agent.resume_stream(session)
            if text is None
            else agent.run_stream(text, session=session)
        )
        try:
            with held_interrupts() as self._let_through, stream:
                return self._told(stream)
        except KeyboardInterrupt:
            if self._is_asked:
                return self._end(AnswerState.STOPPED)
            self._screen.note("stopped")
            return AnswerState.STOPPED
        except ModelFailedError as error:
            return self._fail(str(error))
        except (SapwoodError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the SDK of the model raises
            return self._fail(_in_words(error))
        finally:
            self._screen.settle()

    def _told(self, stream: AgentStream) -> AnswerState:
        """Tell of all events; return how the last answer ended."""
        state = AnswerState.COMPLETE
        for event in stream:
            if isinstance(event, DoneEvent):
                state = self._done(event)
            else:
                self._tell(event)
        reason = stream.answer.reason
        if reason in ("steps", "stopped"):
            return self._end(AnswerState.CUT_OFF, _CUT_OFF[reason])
        return state

    def _begin(self, run: AgentRun, given: ModelInput) -> None:
        """Note which answer begins."""
        self._run, self._is_asked, self._is_stored = run, True, False
        self._id = None if run.partial is None else run.partial.id
        self._screen.asking(self._meter.of(self._session, given.tokens))

    def _heard(self, items: Iterator[T]) -> Iterator[T]:
        """Yield what comes; while it is waited for, store what there is, and hear Ctrl-C."""
        with closing(Quiet.of(items, TICK_S)) as quiet:  # type: ignore[type-var]
            for item in quiet:
                self._let_through()
                if item is not None:
                    yield item
                else:
                    self._save()

    def _save(self) -> None:
        """Store what there is of the answer: nothing more may follow for long."""
        partial = None if self._run is None else self._run.partial
        if partial is not None and partial.parts:
            partial.save()

    def _note_stored(self, event: object) -> None:
        """Tell what is on disk now."""
        messages = event.messages[-event.written :] if isinstance(event, AppendEvent) else []
        if isinstance(event, UpdateEvent):
            messages = [event.message]
        for message in messages:
            self._tell_stored(message, is_new=isinstance(event, AppendEvent))

    def _tell_stored(self, message: Message, *, is_new: bool) -> None:
        if message.id == self._id:
            self._is_stored = True
            self._screen.saved(message.id, len(message.text))
        elif is_new and message.role == "user":
            self._screen.asked(message)
            self._conversation.name_after(message)

    def _tell(self, event: StreamEvent) -> None:
        match event:
            case TextEvent(text=text) | RefusalEvent(text=text):
                self._screen.text(self._id, text)
            case ReasoningEvent(text=text):
                self._screen.thought(self._id, text)
            case CallEvent(part=call):
                self._calls[call.call_id] = call.name
                self._screen.call(self._id, call)
            case PartEvent(part=ToolResultPart() as part):
                self._screen.result(self._calls.get(part.call_id, ""), str(part.output))
            case ErrorEvent(message=message):
                self._screen.note(message)

    def _done(self, event: DoneEvent) -> AnswerState:
        usage: Usage | None = None
        if event.usage is not None:
            cost = self._meter.cost(event.usage)
            usage = msgspec.structs.replace(event.usage, cost_micros=cost)
        why = _CUT_OFF.get(event.reason)
        return self._end(AnswerState.COMPLETE if why is None else AnswerState.CUT_OFF, why, usage)

    def _fail(self, why: str) -> AnswerState:
        return self._end(AnswerState.FAILED, why[:MOST_TOLD])

    def _end(
        self, state: AnswerState, why: str | None = None, usage: Usage | None = None
    ) -> AnswerState:
        """Tell how an answer ended."""
        self._screen.ended(self._id if self._is_stored else None, state.value, why, usage)
        self._is_asked = self._is_stored = False
        return state


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"

"""Let the model answer: stream, store, call the tools that it asks for, and stream on."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing

import msgspec

from ...compaction import is_context_overflow
from ...model import Part, ToolResultPart, Usage
from ..interrupts import held_interrupts
from .chat_model import AnswerEnd, AnswerPiece, ChatModel, ModelError, with_ticks
from .conversation import Conversation
from .screen import Screen
from .stored_answer import SAVE_EVERY_S, AnswerState, StoredAnswer

MOST_ROUNDS = 6
TICK_S = SAVE_EVERY_S / 2


class AnswerOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer ended."""

    state: AnswerState
    why: str | None = None
    usage: Usage | None = None
    is_overflow: bool = False


class Responder:
    """One model that answers in one conversation."""

    def __init__(
        self,
        conversation: Conversation,
        model: ChatModel,
        screen: Screen,
        *,
        has_tools: bool,
    ) -> None:
        self._conversation = conversation
        self._model = model
        self._screen = screen
        self._has_tools = has_tools

    def run(self, question: str) -> AnswerState:
        """Answer a message; tools are called until the model asks for none."""
        to = question
        for left in reversed(range(MOST_ROUNDS)):
            answer, outcome = self._answer(to, is_last=not left)
            self._count(answer, outcome)
            self._screen.ended(answer.id, outcome.state, outcome.why, outcome.usage)
            if outcome.state is not AnswerState.COMPLETE or answer.id is None or not answer.calls:
                return outcome.state
            to = self._call(answer)
        return AnswerState.COMPLETE

    def _answer(self, to: str, *, is_last: bool) -> tuple[StoredAnswer, AnswerOutcome]:
        """Ask the model; when it says that it cannot take so much, shorten it and ask once more."""
        answer, outcome = self._ask(to, is_last=is_last)
        if outcome.is_overflow and answer.id is None and self._conversation.make_room(to):
            answer, outcome = self._ask(to, is_last=is_last)
        return answer, outcome

    def _ask(self, to: str, *, is_last: bool) -> tuple[StoredAnswer, AnswerOutcome]:
        answer = StoredAnswer(
            self._conversation,
            to,
            model=self._model.name,
            clock_s=time.monotonic,
            on_saved=self._screen.saved,
        )
        given = self._conversation.model_input(to)
        if is_last or not self._has_tools:
            # Without tools, the last round is one that ends in words.
            given = msgspec.structs.replace(given, tools=[])
        outcome = AnswerOutcome(state=AnswerState.STOPPED)
        try:
            with closing(with_ticks(lambda: self._model.answer(given), TICK_S)) as pieces:
                done = self._take(pieces, answer)
            state = AnswerState.COMPLETE if done.cut_off is None else AnswerState.CUT_OFF
            outcome = AnswerOutcome(state=state, why=done.cut_off, usage=done.usage)
        except KeyboardInterrupt:
            outcome = AnswerOutcome(state=AnswerState.STOPPED)
        except ModelError as error:
            is_overflow = is_context_overflow(error)
            outcome = AnswerOutcome(
                state=AnswerState.FAILED, why=str(error), is_overflow=is_overflow
            )
        finally:
            # Also when nobody reads the output any more.
            answer.end(outcome.state, outcome.why)
        return answer, outcome

    def _take(self, pieces: Iterable[AnswerPiece | None], answer: StoredAnswer) -> AnswerEnd:
        done = AnswerEnd(cut_off="the model, which ended it without a word")
        for piece in pieces:
            if isinstance(piece, AnswerEnd):
                done = piece
            elif piece is None:
                answer.tick()
            else:
                answer.add(piece)
                self._screen.piece(answer.id, piece)
        return done

    def _count(self, answer: StoredAnswer, outcome: AnswerOutcome) -> None:
        if outcome.usage is None:
            return
        # Some endpoints give many answers the same id: the stored message's is this call's own.
        own = {} if answer.id is None else {"id": answer.id, "message": answer.id}
        with held_interrupts():
            self._conversation.session.add_usage(msgspec.structs.replace(outcome.usage, **own))

    def _call(self, answer: StoredAnswer) -> str:
        assert answer.id is not None
        results: list[Part] = []
        for call in answer.calls:
            output = self._conversation.session.call_tool(call.name, call.input)
            self._screen.result(call.name, output)
            results.append(ToolResultPart(call_id=call.call_id, output=output))
        with held_interrupts():
            return self._conversation.session.append("tool", results, parent=answer.id).id

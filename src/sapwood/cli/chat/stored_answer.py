"""An answer while it grows, so that a kill at any moment leaves what came before it."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

from ...errors import StoreError
from ...model import Message, Part, ReasoningPart, TextPart, ToolCallPart
from ..interrupts import held_interrupts
from .chat_model import AnswerPart
from .conversation import Conversation

SAVE_EVERY_S = 0.5
KEY = "answer"


class AnswerState(enum.Enum):
    """How far an answer came; in the message's metadata, under `KEY`."""

    UNFINISHED = "unfinished"
    COMPLETE = "complete"
    STOPPED = "stopped"
    CUT_OFF = "cut_off"
    FAILED = "failed"


class StoredAnswer:
    """Stored when it begins, about every half second while it grows, and at its end.

    Until its end it is marked as unfinished: a chat that was killed left it so.
    """

    def __init__(
        self,
        conversation: Conversation,
        to: str,
        *,
        model: str,
        clock_s: Callable[[], float],
        on_saved: Callable[[str, int], None],
    ) -> None:
        self._conversation = conversation
        self._to = to
        self._clock_s = clock_s
        self._model = model
        self._on_saved = on_saved
        self._text = ""
        self._thoughts = ""
        self.calls: list[ToolCallPart] = []
        self.id: str | None = None
        self._is_saved = True
        self._saved_at_s = -math.inf

    def add(self, piece: AnswerPart) -> None:
        """Take a piece, and store what there is when it is time to."""
        if isinstance(piece, TextPart):
            self._text += piece.text
        elif isinstance(piece, ReasoningPart):
            self._thoughts += piece.text
        else:
            self.calls.append(piece)
        self._is_saved = False
        self.tick()

    def tick(self) -> None:
        """Store what there is, when it is time to and something came since."""
        is_time = self._clock_s() - self._saved_at_s >= SAVE_EVERY_S
        if self._is_saved or not is_time:
            return
        try:
            self._save(AnswerState.UNFINISHED)
        except StoreError as error:
            # Others keep the store busy: the next time, or the end, stores it.
            if not error.retryable:
                raise

    def end(self, state: AnswerState, why: str | None = None) -> None:
        """Store all of it, and how it ended; an answer of nothing is not stored."""
        if self.id is not None or not self._is_saved:
            self._save(state, why)

    def _save(self, state: AnswerState, why: str | None = None) -> None:
        metadata: dict[str, Any] = {KEY: state.value, "model": self._model}
        if why is not None:
            metadata["why"] = why
        with held_interrupts():
            session, parts = self._conversation.session, self._parts()
            if self.id is None:
                stored = session.append("assistant", parts, metadata=metadata, parent=self._to)
                self.id = stored.id
            else:
                session.update(self.id, parts, metadata=metadata)
            self._is_saved = True
            self._saved_at_s = self._clock_s()
        self._on_saved(self.id, len(self._text))

    def _parts(self) -> list[Part]:
        parts: list[Part] = []
        if self._thoughts:
            parts.append(ReasoningPart(text=self._thoughts))
        if self._text:
            parts.append(TextPart(text=self._text))
        return [*parts, *self.calls]


def state_of(message: Message) -> AnswerState | None:
    """Return how far a stored answer came; None for what was not said in a chat."""
    try:
        return AnswerState(message.metadata.get(KEY))
    except ValueError:
        return None

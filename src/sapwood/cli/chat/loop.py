"""The chat itself: read, store, answer, until the user leaves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

from ...agent import ModelTable
from ...errors import SapwoodError, StoreError
from ...model import Message, ToolCallPart
from ...session import SessionManager
from ...session.turn_documents import PARTIAL, mark_of
from ..exit_codes import OK, UNEXPECTED
from ..settings import Settings
from .answering import Answering, AnswerState
from .commands import run_command
from .conversation import AFTER, ChatSetup, Conversation, open_conversation
from .markdown_screen import MarkdownScreen
from .meter import Meter
from .models import ChatModel
from .screen import InputLine, InputLines, JsonScreen, Screen, Standing

RECENT = 4
PAUSE_S = 0.25
LONGEST_WAIT_S = 90
BUSY = (
    "waiting for another answer in this conversation: one that is given elsewhere, or was killed "
    "less than a minute ago"
)


def hold_chat(
    settings: Settings,
    model: ChatModel,
    table: ModelTable,
    session: str | None,
    *,
    has_tools: bool,
    compact_after: int | None,
) -> int:
    """Chat until the user leaves; return the exit code."""
    screen = _screen(settings)
    lines = InputLines(has_prompt=not settings.json)
    meter = Meter(model.name, table)
    setup = ChatSetup(
        has_tools=has_tools,
        summarize=model.summarize,
        after=compact_after,
        usually=meter.most(AFTER),
        on_compaction=screen.compaction,
    )
    with closing(model), settings.open(create=True) as sessions:
        chat = Chat(sessions, model, meter, screen, lines, setup)
        conversation, is_new = open_conversation(sessions, session, setup)
        screen.note(model.label)
        chat.enter(conversation, is_new=is_new)
        chat.run()
    return UNEXPECTED if chat.failures and not lines.is_terminal else OK


def _screen(settings: Settings) -> Screen:
    if settings.json:
        return JsonScreen()
    output = settings.output
    return MarkdownScreen() if output.is_terminal and output.has_colours else Screen()


class Chat:
    """A user, a model and a conversation."""

    def __init__(
        self,
        sessions: SessionManager,
        model: ChatModel,
        meter: Meter,
        screen: Screen,
        lines: InputLines,
        setup: ChatSetup,
    ) -> None:
        self.sessions = sessions
        self.setup = setup
        self.screen = screen
        self.meter = meter
        self.conversation: Conversation
        self.is_over = False
        self.failures = 0
        self._model = model
        self._lines = lines

    def enter(self, conversation: Conversation, *, is_new: bool) -> None:
        """Go on in a conversation, and tell where it stands."""
        self.conversation = conversation
        recent = conversation.last_messages(RECENT)
        self.screen.entered(conversation.session.record(), is_new, _standing(recent))
        self.screen.recent(recent)

    def run(self) -> None:
        """Read and answer until the end."""
        while not self.is_over:
            try:
                line = self._lines.next()
            except KeyboardInterrupt:
                if not self._lines.is_terminal:
                    raise
                self.screen.note("to leave, type /quit or press Ctrl-D")
                continue
            if line is None:
                return
            self._handle(line)

    def _handle(self, line: InputLine) -> None:
        try:
            if line.is_command:
                run_command(self, line.text)
            elif line.text.strip():
                self._say(line.text)
        except KeyboardInterrupt:
            if not self._lines.is_terminal:
                raise
            self.screen.note("stopped")
        except SapwoodError as error:
            if isinstance(error, StoreError) and not error.retryable:
                raise
            self.failures += 1
            self.screen.failed(error.code, str(error))

    def _say(self, text: str) -> None:
        if self.conversation.is_answered_elsewhere():
            self.screen.note(BUSY)
        # Here Ctrl-C is heard at once.
        until = time.monotonic() + LONGEST_WAIT_S
        while self.conversation.is_answered_elsewhere() and time.monotonic() < until:
            time.sleep(PAUSE_S)
        self.answer(text)

    def answer(self, text: str | None) -> None:
        """Let the model answer what the user says, or said last."""
        answering = Answering(self.conversation, self._model, self.screen, self.meter)
        state = answering.answer(text)
        self.screen.meter(self.meter.of(self.conversation.session))
        self.failures += state is AnswerState.FAILED
        if state is AnswerState.STOPPED and not self._lines.is_terminal:
            raise KeyboardInterrupt


def _standing(recent: Sequence[Message]) -> Standing:
    """Whether the last thing said is whole and answered."""
    if not recent or recent[-1].role not in ("user", "tool", "assistant"):
        return "answered"
    is_cut_off = mark_of(recent[-1]).get("state") in (PARTIAL, "interrupted")
    if is_cut_off and recent[-1].role == "assistant":
        return "cut_off"
    has_calls = any(isinstance(part, ToolCallPart) for part in recent[-1].parts)
    return "unanswered" if has_calls or recent[-1].role != "assistant" else "answered"

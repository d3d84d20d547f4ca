"""The chat itself: read, store, answer, until the user leaves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from ...errors import SapwoodError, StoreError
from ...model import Message, ToolCallPart
from ...session import SessionManager
from ..exit_codes import OK, UNEXPECTED
from ..interrupts import held_interrupts
from ..settings import Settings
from .chat_model import ChatModel
from .commands import run_command
from .conversation import ChatSetup, Conversation, open_conversation
from .responder import Responder
from .screen import InputLine, InputLines, JsonScreen, Screen, Standing
from .stored_answer import AnswerState, state_of

RECENT = 4


def hold_chat(
    settings: Settings,
    model: ChatModel,
    session: str | None,
    *,
    has_tools: bool,
    compact_after: int | None,
) -> int:
    """Chat until the user leaves; return the exit code."""
    screen = JsonScreen() if settings.json else Screen()
    lines = InputLines(has_prompt=not settings.json)
    setup = ChatSetup(
        has_tools=has_tools,
        summarize=model.summarize,
        after=compact_after,
        on_compaction=screen.compaction,
    )
    with closing(model), settings.open(create=True) as sessions:
        chat = Chat(sessions, model, screen, lines, setup)
        conversation, is_new = open_conversation(sessions, session, setup)
        screen.note(model.label)
        chat.enter(conversation, is_new=is_new)
        chat.run()
    return UNEXPECTED if chat.failures and not lines.is_terminal else OK


class Chat:
    """A user, a model and a conversation."""

    def __init__(
        self,
        sessions: SessionManager,
        model: ChatModel,
        screen: Screen,
        lines: InputLines,
        setup: ChatSetup,
    ) -> None:
        self.sessions = sessions
        self.setup = setup
        self.screen = screen
        self.conversation: Conversation
        self.is_over = False
        self.failures = 0
        self.model = model
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
        with held_interrupts():
            message = self.conversation.ask(text)
        self.screen.asked(message)
        self.answer(message.id)

    def answer(self, question: str) -> None:
        """Let the model answer a message."""
        has_tools = self.setup.has_tools
        responder = Responder(self.conversation, self.model, self.screen, has_tools=has_tools)
        state = responder.run(question)
        self.failures += state is AnswerState.FAILED
        if state is AnswerState.STOPPED and not self._lines.is_terminal:
            raise KeyboardInterrupt


def _standing(recent: Sequence[Message]) -> Standing:
    """Whether the last thing said is whole and answered."""
    if not recent or recent[-1].role not in ("user", "tool", "assistant"):
        return "answered"
    if state_of(recent[-1]) is AnswerState.UNFINISHED:
        return "cut_off"
    has_calls = any(isinstance(part, ToolCallPart) for part in recent[-1].parts)
    return "unanswered" if has_calls or recent[-1].role != "assistant" else "answered"

"""Where the user reads and writes: a terminal, a pipe, or events for programs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from ...model import CompactEvent, Message, Overlay, SessionRecord, ToolCallPart, Usage
from ...rules.wording import counted
from ..output import Output, clean, clean_block, encode_json, note, shorten, write_json_line
from ..records import brief, message_json, saving_of, text_of
from ..short_ids import short
from .meter import Reading

Standing = Literal["answered", "unanswered", "cut_off"]

PROMPT = "> "
GOES_ON = ". "
FENCE = '"""'
MOST_RESULT = 200

_STANDING = {
    "cut_off": "the last answer was cut off: /again asks anew",
    "unanswered": "the last message was not answered: /again asks for an answer",
}


class InputLine(NamedTuple):
    """What was written: a message, or a command with its slash."""

    text: str
    is_command: bool


class InputLines:
    """Reads messages; one that begins with three quotes goes on to the line that ends with them."""

    def __init__(self, *, has_prompt: bool) -> None:
        self.is_terminal = sys.stdin.isatty()
        self._has_prompt = has_prompt and self.is_terminal
        self._is_edited = self._has_prompt and sys.stdout.isatty()
        with contextlib.suppress(AttributeError):
            # A byte that is no text must not end the conversation.
            sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
        if self._is_edited:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - input() edits lines with it

    def next(self) -> InputLine | None:
        """Return what is written next; None when there is no more."""
        line = self._line(PROMPT)
        if line is None or not line.lstrip().startswith(FENCE):
            return line if line is None else _plain(line)
        text = line.lstrip().removeprefix(FENCE)
        while not text.rstrip().endswith(FENCE):
            more = self._line(GOES_ON)
            if more is None:
                # The end of a pipe ends what was begun, too.
                return InputLine(text.strip("\n"), is_command=False)
            text += f"\n{more}"
        return InputLine(text.rstrip().removesuffix(FENCE).strip("\n"), is_command=False)

    def _line(self, prompt: str) -> str | None:
        sys.stdout.flush()
        if self._is_edited:
            try:
                return input(prompt)
            except (EOFError, KeyboardInterrupt) as end:
                sys.stdout.write("\n")
                if isinstance(end, EOFError):
                    return None
                raise
        if self._has_prompt:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None


def _plain(line: str) -> InputLine:
    if line.startswith("//"):
        return InputLine(line[1:].rstrip(), is_command=False)
    return InputLine(line.rstrip(), is_command=line.startswith("/"))


class Screen:
    """Plain text; in a terminal, with a few colours."""

    is_json = False

    def __init__(self) -> None:
        self._output = Output()
        self._is_in_line = False

    def note(self, text: str) -> None:
        """Show something that is no part of the conversation."""
        self._end_line()
        note(text)

    def show(self, kind: str, value: dict[str, Any], lines: Iterable[str]) -> None:
        """Answer a command."""
        self._end_line()
        for line in lines:
            self._output.line(line)
        sys.stdout.flush()

    def entered(self, record: SessionRecord, is_new: bool, standing: Standing) -> None:
        """Show which conversation goes on, and where it stands."""
        title = f" “{clean(record.title)}”" if record.title else ""
        many = counted(record.messages, "message")
        self.note(f"{clean(short(record.id))}{title}: {'a new conversation' if is_new else many}")
        if standing in _STANDING:
            self.note(_STANDING[standing])

    def recent(self, messages: Sequence[Message]) -> None:
        """Show the end of the conversation."""
        if self._output.is_terminal:
            for message in messages:
                line = f"{clean(message.role)}: {brief(message)}"
                self._output.line(self._dim(shorten(line, self._output.width)))

    def asked(self, message: Message) -> None:
        """Note that a message is stored; here not, since the user has just written it."""

    def asking(self, reading: Reading) -> None:
        """Note that the model is asked; here not, its answer says so."""

    def text(self, id: str | None, text: str) -> None:
        """Show a piece of what the model says."""
        self._write(clean_block(text))

    def thought(self, id: str | None, text: str) -> None:
        """Show a piece of what the model thinks."""
        self._write(self._dim(clean_block(text)))

    def call(self, id: str | None, call: ToolCallPart) -> None:
        """Show a call of a tool."""
        self._end_line()
        self._line(f"→ {call.name} {encode_json(call.input)}")

    def saved(self, id: str, characters: int) -> None:
        """Note that so much of an answer's text is stored; here not, people expect no less."""

    def result(self, name: str, output: str) -> None:
        """Show what a tool answered."""
        self._end_line()
        self._line(f"← {shorten(output, MOST_RESULT)}")

    def settle(self) -> None:
        """Show for good what was shown in passing."""

    def meter(self, reading: Reading) -> None:
        """Show how full the context is, and what was spent; a pipe is for answers."""
        if self._output.is_terminal:
            self._end_line()
            self._line(reading.line)

    def ended(self, id: str | None, state: str, why: str | None, usage: Usage | None) -> None:
        """Show how an answer ended."""
        self._end_line()
        if state == "failed":
            note(f"the model did not answer: {clean(why or '')}")
        elif state == "stopped":
            note("stopped; what came is kept" if id else "stopped before anything came")
        elif state == "cut_off":
            note(f"the answer was cut off by {why}")
        elif id is None:
            note("the model answered nothing")

    def compaction(self, event: CompactEvent) -> None:
        """Report a compaction that nobody asked for."""
        if event.phase == "started":
            self.note("there is much to be shown to the model: a summary of the older part is made")
        elif event.phase == "done" and event.overlay is not None:
            self.note(summary_note(event.overlay))
        else:
            self.note(f"no summary was made: {clean(event.reason)}")

    def failed(self, code: str, text: str) -> None:
        """Show what went wrong."""
        self.note(f"sapwood: {clean(text)}")

    def _write(self, text: str) -> None:
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
            self._is_in_line = not text.endswith("\n")

    def _line(self, text: str) -> None:
        self._write(self._dim(shorten(clean(text), self._output.width)) + "\n")

    def _end_line(self) -> None:
        if self._is_in_line:
            self._write("\n")

    def _dim(self, text: str) -> str:
        return self._output.style(text, dim=True)


class JsonScreen(Screen):
    """The same for programs: one JSON object on each line; its `event` says what it is."""

    is_json = True

    def note(self, text: str) -> None:
        self._event("note", {"text": text})

    def show(self, kind: str, value: dict[str, Any], lines: Iterable[str]) -> None:
        self._event(kind, value)

    def entered(self, record: SessionRecord, is_new: bool, standing: Standing) -> None:
        value = {"session": record.id, "title": record.title, "is_new": is_new}
        self._event("entered", {**value, "messages": record.messages, "standing": standing})

    def recent(self, messages: Sequence[Message]) -> None:
        self._event("recent", {"messages": [message_json(it) for it in messages]})

    def asked(self, message: Message) -> None:
        self._event("asked", {"id": message.id, "text": text_of(message)})

    def text(self, id: str | None, text: str) -> None:
        self._event("text", {"id": id, "text": text})

    def thought(self, id: str | None, text: str) -> None:
        self._event("thought", {"id": id, "text": text})

    def call(self, id: str | None, call: ToolCallPart) -> None:
        value = {"call_id": call.call_id, "name": call.name, "input": call.input}
        self._event("call", {"id": id, **value})

    def saved(self, id: str, characters: int) -> None:
        self._event("saved", {"id": id, "characters": characters})

    def result(self, name: str, output: str) -> None:
        self._event("result", {"name": name, "output": output})

    def meter(self, reading: Reading) -> None:
        self._event("meter", msgspec.structs.asdict(reading))

    def ended(self, id: str | None, state: str, why: str | None, usage: Usage | None) -> None:
        figures = None if usage is None else msgspec.to_builtins(usage)
        self._event("ended", {"id": id, "state": state, "why": why, "usage": figures})

    def failed(self, code: str, text: str) -> None:
        self._event("failed", {"error": code, "message": text})

    def _event(self, kind: str, value: dict[str, Any]) -> None:
        write_json_line({"event": kind, **value})


def summary_note(overlay: Overlay) -> str:
    """Write what a summary stands for now."""
    return f"a summary stands for {saving_of(overlay)}; nothing was deleted"

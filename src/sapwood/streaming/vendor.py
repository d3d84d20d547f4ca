"""Whose stream it is, told by its first item."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..model import NewMessage, Part, Usage
from ..rules.wording import a_kind
from .anthropic import MessageReader
from .events import StreamEvent
from .openai_chat import ChatReader
from .openai_responses import ResponseReader
from .parts import PartReader
from .reader import NOTHING, StreamReader, fields_of
from .text import TextReader


class StreamAnswer:
    """What is read from a stream; its first item says by which reader."""

    def __init__(self, model: str) -> None:
        self.reader: StreamReader = _NoReader(model)

    def begin(self, first: Any) -> StreamReader:
        """Choose the reader."""
        self.reader = _reader_for(first, self.reader.model)
        return self.reader


class _NoReader(StreamReader):
    """Stands for a stream of which nothing came."""

    def read(self, item: Any) -> tuple[StreamEvent, ...]:
        return NOTHING

    @property
    def message(self) -> NewMessage:
        return NewMessage(role="assistant", parts=[])


def _reader_for(first: Any, model: str) -> StreamReader:
    """Return the reader of a stream that begins with an item."""
    if isinstance(first, str):
        return TextReader(model)
    if isinstance(first, (Part, Usage)):
        return PartReader(model)
    fields = fields_of(first)
    kind = fields.get("type")
    if "choices" in fields or kind == "chunk" or (kind is None and "error" in fields):
        return ChatReader(model)
    if isinstance(kind, str):
        if kind.startswith("response.") or (kind == "error" and "error" not in fields):
            return ResponseReader(model)
        if kind in ("ping", "error") or kind.startswith(("message_", "content_block_")):
            return MessageReader(model)
    raise UsageError(
        f"the stream begins with {a_kind(first)} of no known kind: give what the SDK of "
        "OpenAI or Anthropic returns with stream=True, or an iterator of strings or parts",
        path="response",
    )

"""What a model says while it answers, piece by piece."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

import msgspec

from ...compaction.function import Summarize
from ...model import ModelInput, Usage


class TextPiece(msgspec.Struct, frozen=True):
    """A piece of the answer."""

    text: str


class ThoughtPiece(msgspec.Struct, frozen=True):
    """A piece of what the model thinks before it answers."""

    text: str


class CallPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model asks for, once it has said all of it."""

    call_id: str
    name: str
    input: Any


class AnswerEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an answer. `cut_off` says why it is not a whole one."""

    usage: Usage | None = None
    cut_off: str | None = None


AnswerPiece = TextPiece | ThoughtPiece | CallPiece | AnswerEnd
AnswerPieces = Generator[AnswerPiece, None, None]


class ModelError(Exception):
    """The model could not be asked, or stopped in the middle; the error of its SDK is the cause."""


class ChatModel(Protocol):
    """Somebody who answers. `label` is what people are told about who it is.

    `summarize` writes summaries; None means that it cannot.
    """

    name: str
    label: str
    summarize: Summarize | None

    def answer(self, given: ModelInput) -> AnswerPieces:
        """Answer the last of the messages; the last piece is `Done`."""

    def close(self) -> None:
        """Let go of connections."""

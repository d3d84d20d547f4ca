"""What a model says while it answers, piece by piece, and how that is waited for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Protocol

import msgspec

from ...compaction.function import Summarize
from ...model import ModelInput, ReasoningPart, TextPart, ToolCallPart, Usage

# An endpoint may send a whole page of HTML as its error.
MOST_TOLD = 500


class AnswerEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an answer. `cut_off` says why it is not a whole one."""

    usage: Usage | None = None
    cut_off: str | None = None


AnswerPart = TextPart | ReasoningPart | ToolCallPart
"""A piece of what the model says or thinks, or a tool call once all of it was said."""
AnswerPiece = AnswerPart | AnswerEnd
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
        """Answer the last of the messages; the last piece is `AnswerEnd`."""

    def close(self) -> None:
        """Let go of connections."""


_QueuedPiece = AnswerPiece | Exception | None


def with_ticks(
    start: Callable[[], AnswerPieces], tick_s: float
) -> Generator[AnswerPiece | None, None, None]:
    """Yield the pieces as they come, and None when none came for so long.

    They are read in a thread, so that neither a slow model nor the store holds up the other, and
    Ctrl-C is heard at once. A reader that leaves early ends the thread at the next piece.
    """
    items: queue.SimpleQueue[_QueuedPiece] = queue.SimpleQueue()
    is_over = threading.Event()
    threading.Thread(target=_read, args=(start, items, is_over), daemon=True).start()
    try:
        while True:
            try:
                item = items.get(timeout=tick_s)
            except queue.Empty:
                yield None
                continue
            if item is None:
                return
            if isinstance(item, Exception):
                raise ModelError(f"{type(item).__name__}: {item}"[:MOST_TOLD]) from item
            yield item
    finally:
        is_over.set()


def _read(
    start: Callable[[], AnswerPieces],
    items: queue.SimpleQueue[_QueuedPiece],
    is_over: threading.Event,
) -> None:
    try:
        # Closing the pieces closes the connection that they come from.
        with closing(start()) as pieces:
            for piece in pieces:
                if is_over.is_set():
                    break
                items.put(piece)
    except Exception as error:  # noqa: BLE001 - raised again by whoever waits
        items.put(error)
    else:
        items.put(None)

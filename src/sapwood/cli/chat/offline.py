"""The stand-in for a model, as a chat uses it."""

from __future__ import annotations

from ...agent import OfflineModel
from ...compaction.function import Summarize
from ...model import ModelInput
from .chat_model import AnswerEnd, AnswerPieces


class OfflineChatModel(OfflineModel):
    """Answers in a chat, and writes no summaries."""

    label = "no model: an offline stand-in answers, which only counts, repeats and searches"
    summarize: Summarize | None = None

    def answer(self, given: ModelInput) -> AnswerPieces:
        """Answer word by word."""
        yield from self(given)
        yield AnswerEnd()

    def close(self) -> None:
        """Do nothing: there is no connection."""

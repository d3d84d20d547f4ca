"""A model behind an endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

from ...compaction.function import Summarize
from ...formats import input_to_openai_chat
from ...model import ModelInput, ReasoningPart, TextPart
from ...streaming import (
    CallEvent,
    DoneEvent,
    EventStream,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)
from ...summarizers import OpenAISummarizer
from ...summarizers.sdk import ClientSettings, client_of, load_sdk
from .chat_model import AnswerEnd, AnswerPiece, AnswerPieces

_CUT_OFF = {
    "length": "the limit on its length",
    "content_filter": "the endpoint's filter",
    "cut": "the endpoint, which ended it without a word",
}


class EndpointModel:
    """Asks a model, and gives its answer as it streams in."""

    def __init__(self, model: str, settings: ClientSettings) -> None:
        self._client = client_of(None, load_sdk("openai").OpenAI, settings)
        self.name = model
        self.summarize: Summarize | None = OpenAISummarizer(
            model,
            client=self._client,
            timeout_s=settings.timeout_s,
            max_retries=settings.max_retries,
        )
        self.label = f"{model} at {self._client.base_url}"

    def answer(self, given: ModelInput) -> AnswerPieces:
        """Stream an answer; tool calls come whole, at its end."""
        # What a model thought is not told to it again. Not every server takes a key for its cache.
        request = input_to_openai_chat(given, reasoning="omit", cache=False)
        response = self._client.chat.completions.create(
            model=self.name, **request, stream=True, stream_options={"include_usage": True}
        )
        with EventStream(response, model=self.name) as events:
            for event in events:
                if (piece := _piece(event)) is not None:
                    yield piece

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _piece(event: StreamEvent) -> AnswerPiece | None:
    match event:
        case TextEvent(text=text) | RefusalEvent(text=text):
            return TextPart(text=text)
        case ReasoningEvent(text=text):
            return ReasoningPart(text=text)
        case CallEvent(part=part):
            return part
        case DoneEvent(reason=reason, usage=usage):
            return AnswerEnd(usage=usage, cut_off=_CUT_OFF.get(reason))
    return None

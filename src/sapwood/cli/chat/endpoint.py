"""A model behind an endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ...compaction.function import Summarize
from ...formats import input_to_openai_chat
from ...model import ModelInput, ReasoningPart, TextPart, ToolCallPart, Usage
from ...summarizers import OpenAISummarizer
from ...summarizers.sdk import ClientSettings, client_of, load_sdk
from ...summarizers.vendor_answers import pick, text_at, usage_of_completion
from .chat_model import AnswerEnd, AnswerPart, AnswerPiece, AnswerPieces

_CUT_OFF = {"length": "the limit on its length", "content_filter": "the endpoint's filter"}
_THOUGHTS = ("reasoning_content", "reasoning")


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
        # What a model thought is not told to it again.
        request = input_to_openai_chat(given, reasoning="omit")
        stream = self._client.chat.completions.create(
            model=self.name, **request, stream=True, stream_options={"include_usage": True}
        )
        with stream:
            yield from _AnswerReader(self.name).pieces(stream)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class _AnswerReader:
    """Puts together what comes in pieces."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._usage: Usage | None = None
        self._finish: Any = None
        self._calls: dict[int, list[str]] = {}

    def pieces(self, stream: Any) -> Iterator[AnswerPiece]:
        for chunk in stream:
            self._usage = usage_of_completion(chunk, self._model) or self._usage
            choice = pick(chunk, "choices", 0)
            self._finish = pick(choice, "finish_reason") or self._finish
            yield from _said(pick(choice, "delta"))
            self._collect(pick(choice, "delta", "tool_calls"))
        if self._finish is not None:
            yield from map(_call, self._calls.values())
        yield AnswerEnd(usage=self._usage, cut_off=self._cut_off())

    def _collect(self, deltas: Any) -> None:
        for delta in deltas if isinstance(deltas, list) else []:
            index = pick(delta, "index")
            call = self._calls.setdefault(index if isinstance(index, int) else 0, ["", "", ""])
            # The id and the name come once, the arguments in pieces.
            call[0] = call[0] or text_at(delta, "id")
            call[1] = call[1] or text_at(delta, "function", "name")
            call[2] += text_at(delta, "function", "arguments")

    def _cut_off(self) -> str | None:
        if self._finish is None:
            return "the endpoint, which ended it without a word"
        return _CUT_OFF.get(self._finish) if isinstance(self._finish, str) else None


def _said(delta: Any) -> Iterator[AnswerPart]:
    for name in _THOUGHTS:
        thought = text_at(delta, name)
        if thought:
            yield ReasoningPart(text=thought)
            break
    text = text_at(delta, "content") or text_at(delta, "refusal")
    if text:
        yield TextPart(text=text)


def _call(pieces: list[str]) -> ToolCallPart:
    call_id, name, arguments = pieces
    try:
        given = msgspec.json.decode(arguments or "{}")
    except msgspec.DecodeError:
        # Kept as it is: the tool says what is wrong with it.
        given = arguments
    return ToolCallPart(call_id=call_id or name, name=name, input=given)

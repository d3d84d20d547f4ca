"""What came from one format is valid for another, and nothing that was said is missing."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from anthropic.types import MessageParam
from hypothesis import given
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam

import sapwood
from sapwood import formats
from sapwood.model import ModelMessage, Part

from . import rules
from .test_round_trip import FORMATS, Format
from .typed import misfit
from .values import Json

SENDABLE = [format for format in FORMATS if format.name != "ai_sdk"]
TYPES: dict[str, Any] = {
    "openai_chat": list[ChatCompletionMessageParam],
    "openai_responses": list[ResponseInputItemParam],
    "anthropic": list[MessageParam],
}
RULES: dict[str, Callable[[list[Json]], None]] = {
    "openai_chat": rules.check_chat,
    "openai_responses": rules.check_items,
    "anthropic": rules.check_anthropic,
}
foreign = pytest.mark.parametrize(
    ("source", "target"),
    [(one, other) for one in FORMATS for other in SENDABLE if one.name != other.name],
    ids=lambda format: format.name,
)


def shown_of(source: Format, values: list[Json]) -> list[ModelMessage]:
    """Give messages as a model is given them: every call has a result."""
    shown: list[ModelMessage] = []
    for message in source.read(values):
        shown.append(
            ModelMessage(role=message.role, parts=message.parts, metadata=message.metadata)
        )
        if source.name == "ai_sdk":
            shown += interrupted(message.parts)
    return shown


def interrupted(parts: list[Part]) -> Iterator[ModelMessage]:
    results = {part.call_id for part in parts if isinstance(part, sapwood.ToolResultPart)}
    for part in parts:
        if isinstance(part, sapwood.ToolCallPart) and part.call_id not in results:
            result = sapwood.ToolResultPart(call_id=part.call_id, output="interrupted")
            yield ModelMessage(role="tool", parts=[result])


def strings_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from strings_of(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings_of(child)


def traces_of(part: Part) -> Iterator[str]:
    """Give what must be found of a part wherever it is written; one of several will do."""
    if isinstance(part, (sapwood.TextPart, sapwood.ReasoningPart)):
        if part.text.strip():
            yield part.text
    elif isinstance(part, sapwood.ToolCallPart):
        yield part.name
    elif isinstance(part, sapwood.ToolResultPart):
        if isinstance(part.output, str) and part.output.strip():
            yield part.output
    elif isinstance(part, sapwood.OtherPart) and part.value["type"] != "step-start":
        yield part.value["type"]


def traces_of_file(part: sapwood.FilePart) -> list[str]:
    data = part.data or b""
    inline = (part.uri or "").partition(",")[2]
    id = (part.uri or "").removeprefix("openai:").removeprefix("anthropic:")
    return [f"[file {part.name} ({part.media_type})", f"[file {part.media_type}"] + [
        trace for trace in (id, inline, base64.b64encode(data).decode(), text(data)) if trace
    ]


def text(data: bytes) -> str:
    return data.decode(errors="ignore")


def assert_all_is_said(shown: list[ModelMessage], written: list[Json]) -> None:
    strings = [*strings_of(written)]
    for message in shown:
        for part in message.parts:
            for trace in traces_of(part):
                # Anthropic's last message ends without white space.
                said = trace.rstrip()
                assert any(said in string for string in strings), (trace, written)
            if isinstance(part, sapwood.FilePart) and (part.data or part.uri):
                traces = traces_of_file(part)
                assert any(trace in string for trace in traces for string in strings), part


@foreign
def test_it_is_valid_for_another_vendor(source: Format, target: Format) -> None:
    @given(source.conversations)
    def check(values: list[Json]) -> None:
        shown = shown_of(source, values)
        written = target.write(shown, wire=True)
        assert misfit(written, TYPES[target.name]) is None
        RULES[target.name](written)
        assert_all_is_said(shown, written)

    check()


@pytest.mark.parametrize(
    "source", [it for it in FORMATS if it.name != "ai_sdk"], ids=lambda it: it.name
)
def test_it_is_valid_for_a_user_interface(source: Format) -> None:
    @given(source.conversations)
    def check(values: list[Json]) -> None:
        shown = shown_of(source, values)
        written = formats.to_ai_sdk(shown)
        rules.check_ui(written)
        assert_all_is_said(shown, written)

    check()

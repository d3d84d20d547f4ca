"""The AI SDK's UI message stream: what its client accepts, and what it makes of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from sapwood import FilePart, OtherPart, ToolCallPart, ToolResultPart
from sapwood.formats import from_ai_sdk
from sapwood.model import NewMessage
from sapwood.streaming import (
    AI_SDK_HEADERS,
    CallEvent,
    DoneEvent,
    ErrorEvent,
    EventStream,
    PartEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
    events_to_ai_sdk,
)

from .answers import ALL, chat

# The fields of each chunk in version 5, whose client refuses any other; `?` may be left out.
FIELDS = {
    "start": "messageId?",
    "start-step": "",
    "finish-step": "",
    "finish": "",
    "error": "errorText",
    **{f"{kind}-{end}": "id" for kind in ("text", "reasoning") for end in ("start", "end")},
    "text-delta": "id delta",
    "reasoning-delta": "id delta",
    "tool-input-start": "toolCallId toolName providerExecuted?",
    "tool-input-delta": "toolCallId inputTextDelta",
    "tool-input-available": "toolCallId toolName input providerExecuted?",
    "tool-output-available": "toolCallId output",
    "tool-output-error": "toolCallId errorText",
    "file": "url mediaType",
    "data-other": "data",
    "data-retry": "data transient",
}
DONE = DoneEvent(reason="stop", message=NewMessage(role="assistant", parts=[]))


def chunks(events: Iterable[StreamEvent], **settings: Any) -> list[dict[str, Any]]:
    """Write events, and read the chunks as strictly as the client does."""
    *lines, last, empty = "".join(events_to_ai_sdk(events, **settings)).split("\n\n")
    assert (last, empty) == ("data: [DONE]", "")
    told = [json.loads(line.removeprefix("data: ")) for line in lines]
    for chunk in told:
        fields = FIELDS[chunk["type"]].split()
        needed = {name for name in fields if not name.endswith("?")}
        assert needed <= chunk.keys() - {"type"} <= {name.rstrip("?") for name in fields}
    return told


def shown(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Build the message that the client shows, and refuse what it would."""
    message: dict[str, Any] = {"role": "assistant", "parts": []}
    open_texts: dict[str, dict[str, Any]] = {}
    tools: dict[str, dict[str, Any]] = {}
    for chunk in told:
        kind, _, what = chunk["type"].partition("-")
        if kind in ("text", "reasoning") and what == "start":
            open_texts[chunk["id"]] = part = {"type": kind, "text": ""}
            message["parts"].append(part)
        elif kind in ("text", "reasoning") and what == "delta":
            open_texts[chunk["id"]]["text"] += chunk["delta"]
        elif kind in ("text", "reasoning"):
            del open_texts[chunk["id"]]
        elif kind == "tool":
            _tool(message, tools, chunk)
        elif chunk["type"] == "start":
            message |= {"id": chunk["messageId"]} if "messageId" in chunk else {}
        elif chunk["type"] == "start-step":
            message["parts"].append({"type": "step-start"})
        elif kind in ("file", "data"):
            message["parts"].append(chunk)
    assert not open_texts
    return message


def _tool(message: dict[str, Any], tools: dict[str, Any], chunk: dict[str, Any]) -> None:
    id, kind = chunk["toolCallId"], chunk["type"]
    if kind in ("tool-input-start", "tool-input-available") and id not in tools:
        tools[id] = {"type": f"tool-{chunk['toolName']}", "toolCallId": id, "raw": ""}
        message["parts"].append(tools[id])
    tool = tools[id]
    if kind == "tool-input-delta":
        tool["raw"] += chunk["inputTextDelta"]
    elif kind == "tool-input-available":
        tool |= {"state": "input-available", "input": chunk["input"]}
        tool.pop("raw")
    elif kind != "tool-input-start":
        what = "error" if kind == "tool-output-error" else "available"
        field = "errorText" if what == "error" else "output"
        tool |= {"state": f"output-{what}", field: chunk[field]}


@pytest.mark.parametrize("vendor", ALL)
def test_the_client_shows_what_the_message_says(vendor: str) -> None:
    events = list(EventStream(ALL[vendor]()))
    [message] = from_ai_sdk(shown(chunks(events, message_id="m1")))
    done = events[-1]
    assert isinstance(done, DoneEvent)
    assert message.id == "m1"
    texts = {"Look it up.", "Look it up.\n\nThen answer.", "One moment."}
    assert texts & {getattr(it, "text", "") for it in done.message.parts if it} <= {
        getattr(it, "text", "") for it in message.parts
    }
    for kind in (ToolCallPart, ToolResultPart):
        there = [
            (it.call_id, getattr(it, "input", None)) for it in message.parts if type(it) is kind
        ]
        own = [
            (it.call_id, getattr(it, "input", None))
            for it in done.message.parts
            if type(it) is kind
        ]
        assert there == own


def test_results_belong_to_the_step_of_their_calls() -> None:
    first, second = list(EventStream(chat())), [TextEvent(text="Sunny."), DONE]
    results = [
        PartEvent(part=ToolResultPart(call_id="call_a", output=[1])),
        PartEvent(part=ToolResultPart(call_id="call_b", output="no", is_error=True)),
    ]
    told = chunks([*first, *results, *second])
    kinds = [it["type"] for it in told]
    assert kinds[-9:] == [
        "tool-output-available",
        "tool-output-error",
        "finish-step",
        "start-step",
        "text-start",
        "text-delta",
        "text-end",
        "finish-step",
        "finish",
    ]
    assert kinds.count("start") == kinds.count("finish") == 1
    states = [it.get("state") for it in shown(told)["parts"] if "toolCallId" in it]
    assert states == ["output-available", "output-error"]


def test_texts_are_parted_by_what_stands_between() -> None:
    call = CallEvent(part=ToolCallPart(call_id="a", name="f", input={}))
    told = chunks([TextEvent(text="x"), call, TextEvent(text="y"), RefusalEvent(text=""), DONE])
    assert [it["text"] for it in shown(told)["parts"] if it["type"] == "text"] == ["x", "y"]


def test_files_and_what_has_no_part() -> None:
    parts = [
        PartEvent(part=FilePart(media_type="image/png", data=b"hi", name="a.png")),
        PartEvent(part=OtherPart(value={"type": "web_search_call"})),
    ]
    told = chunks([*parts, DONE])
    assert told[2] == {
        "type": "file",
        "mediaType": "image/png",
        "url": "data:image/png;base64,aGk=",
    }
    assert told[3] == {"type": "data-other", "data": {"type": "web_search_call"}}


def test_a_cut_and_an_error_are_told() -> None:
    *_, cut = chunks(EventStream(chat()[:3]))[:-2]
    assert cut == {"type": "error", "errorText": "The answer was cut off."}
    assert {"type": "error", "errorText": "no"} in chunks([ErrorEvent(message="no"), DONE])


def test_an_answer_that_begins_anew_does_not_end_the_stream() -> None:
    again = ErrorEvent(message="again", code="retry")
    told = chunks([TextEvent(text="hal"), again, TextEvent(text="whole"), DONE])
    assert [it["type"] for it in told if it["type"] in ("error", "data-retry", "finish")] == [
        "data-retry",
        "finish",
    ]


def test_nothing_is_an_empty_message() -> None:
    assert [it["type"] for it in chunks([])] == ["start", "finish"]


def test_the_header_that_the_client_looks_for() -> None:
    assert AI_SDK_HEADERS["x-vercel-ai-ui-message-stream"] == "v1"
    assert AI_SDK_HEADERS["content-type"] == "text/event-stream"

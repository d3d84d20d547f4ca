"""OpenAI's responses, as the vendor streams them and as other servers do."""

from __future__ import annotations

import pytest
from endpoint import responses

from sapwood import FilePart, OtherPart, ReasoningPart, TextPart, ToolCallPart
from sapwood.formats import to_anthropic, to_openai_responses
from sapwood.model import Usage
from sapwood.streaming import (
    CallEvent,
    DoneEvent,
    ErrorEvent,
    EventStream,
    PartEvent,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)

from .answers import OUTPUT, Json, response, said

CALL: Json = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}


def read(items: list[Json]) -> tuple[list[StreamEvent], DoneEvent]:
    """Read a stream, and return the events before the last, and that one."""
    *events, done = EventStream(items)
    assert isinstance(done, DoneEvent)
    return events, done


def test_a_whole_answer_goes_back_as_the_items_that_it_was() -> None:
    events, done = read(response())
    assert (done.reason, done.said, done.id) == ("tool_calls", "completed", "resp_1")
    assert to_openai_responses([done.message]) == OUTPUT
    thought = "".join(it.text for it in events if isinstance(it, ReasoningEvent))
    assert thought == "Look it up.\n\nThen answer."
    assert done.message.parts[0].text == thought  # type: ignore[union-attr]
    called = [it.part.call_id for it in events if isinstance(it, CallEvent)]
    assert called == ["call_a", "call_b"]
    assert done.usage == Usage(
        id="resp_1",
        model="small-1",
        input_tokens=1200,
        output_tokens=80,
        cached_tokens=1024,
        reasoning_tokens=30,
    )


def test_an_answer_of_many_items_can_be_told_to_another_vendor() -> None:
    _, done = read(response())
    first, result = to_anthropic([done.message])
    assert [it["type"] for it in first["content"]][-3:] == ["tool_use"] * 3
    assert result["content"][0]["tool_use_id"] == "mcp_1"


def test_an_answer_that_was_changed_is_written_as_changed() -> None:
    _, done = read(responses.events([said("One."), said("Two.")]))
    done.message.parts.pop()
    [item] = to_openai_responses([done.message])
    assert item["content"][0]["text"] == "One."
    assert "id" not in item


def test_what_ran_at_the_vendor_is_a_part() -> None:
    image = {"type": "image_generation_call", "id": "ig_1", "result": "aGk=", "status": "completed"}
    events, _ = read(responses.events([OUTPUT[1], OUTPUT[3], image]))
    parts = [it.part for it in events if isinstance(it, PartEvent)]
    assert parts[0] == OtherPart(value=OUTPUT[1])
    assert isinstance(parts[1], ToolCallPart)
    assert parts[2].output == "y"  # type: ignore[union-attr]
    assert isinstance(parts[3], FilePart)
    assert parts[3].data == b"hi"


def test_a_refusal() -> None:
    refused = {**said(""), "content": [{"type": "refusal", "refusal": "I cannot."}]}
    events, done = read(responses.events([refused]))
    assert "".join(it.text for it in events if isinstance(it, RefusalEvent)) == "I cannot."
    assert done.reason == "refusal"
    assert to_openai_responses([done.message]) == [refused]


@pytest.mark.parametrize(
    ("why", "reason"), [("max_output_tokens", "length"), ("content_filter", "content_filter")]
)
def test_an_answer_that_is_incomplete(why: str, reason: str) -> None:
    items = responses.events([said("x")], end="incomplete", incomplete_details={"reason": why})
    _, done = read(items)
    assert (done.reason, done.said) == (reason, why)
    assert done.usage is not None


def test_an_answer_that_failed() -> None:
    error = {"code": "server_error", "message": "Sorry"}
    events, done = read(responses.events([], end="failed", error=error, usage=None))
    assert events == [ErrorEvent(message="Sorry", code="server_error")]
    assert (done.reason, done.usage) == ("error", None)


def test_an_error_in_the_stream() -> None:
    error = {"type": "error", "code": "rate_limit", "message": "Slower", "param": None}
    events, done = read([responses.events([])[0], error])
    assert events == [ErrorEvent(message="Slower", code="rate_limit")]
    assert done.reason == "error"


def test_items_that_come_without_pieces() -> None:
    kinds = ("response.created", "response.output_item.done", "response.completed")
    items = [it for it in response() if it["type"] in kinds]
    for some in (items, [items[0], items[-1]]):
        events, done = read(some)
        assert TextEvent(text="One moment.") in events
        assert ReasoningEvent(text="Look it up.\n\nThen answer.") in events
        assert [it.part.call_id for it in events if isinstance(it, CallEvent)] == [
            "call_a",
            "call_b",
        ]
        assert to_openai_responses([done.message]) == OUTPUT


def test_ids_of_calls_that_are_missing_or_the_same() -> None:
    calls = [CALL, {**CALL, "call_id": "a"}, {**CALL, "call_id": "a"}]
    events, done = read(responses.events(calls))
    ids = [it.part.call_id for it in events if isinstance(it, CallEvent)]
    assert ids == ["resp_1_0", "a", "a_3"]
    assert [it.call_id for it in done.message.parts if isinstance(it, ToolCallPart)] == ids


def test_what_came_before_a_cut_is_kept_without_what_only_the_whole_has() -> None:
    whole = response()
    thought = next(i for i, it in enumerate(whole) if it.get("delta") == "Then ")
    _, done = read(whole[: thought + 1])
    assert done.reason == "cut"
    assert done.message.parts == [ReasoningPart(text="Look it up."), ReasoningPart(text="Then ")]
    spoken = next(i for i, it in enumerate(whole) if it.get("delta") == "oment")
    _, done = read(whole[: spoken + 1])
    assert done.message.parts[1:] == [OtherPart(value=OUTPUT[1]), TextPart(text="One moment")]
    assert to_openai_responses([done.message])[0] == OUTPUT[0]

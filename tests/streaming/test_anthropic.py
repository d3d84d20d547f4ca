"""Anthropic's messages, as the vendor streams them and as other servers do."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import OtherPart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from sapwood.formats import to_anthropic
from sapwood.model import Usage
from sapwood.streaming import (
    CallEvent,
    CallStartEvent,
    DoneEvent,
    ErrorEvent,
    EventStream,
    PartEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
)

from .answers import CALL_A, CALL_B, CITED, CONTENT, FOUND, SEARCH, SECRET, THOUGHT, Json, claude


def read(items: list[Json]) -> tuple[list[StreamEvent], DoneEvent]:
    """Read a stream, and return the events before the last, and that one."""
    *events, done = EventStream(items)
    assert isinstance(done, DoneEvent)
    return events, done


def test_a_whole_answer_goes_back_as_it_came() -> None:
    events, done = read(claude())
    assert (done.reason, done.said, done.id) == ("tool_calls", "tool_use", "msg_1")
    assert to_anthropic([done.message]) == [{"role": "assistant", "content": CONTENT}]
    assert "".join(it.text for it in events if isinstance(it, TextEvent)) == CITED["text"]
    assert [it.part.call_id for it in events if isinstance(it, CallEvent)] == ["toolu_a", "toolu_b"]
    assert done.usage == Usage(
        id="msg_1",
        model="small-1",
        input_tokens=1200,
        output_tokens=80,
        cached_tokens=1024,
        reasoning_tokens=30,
    )


def test_a_tool_at_the_vendor_is_not_ours_to_run() -> None:
    events, done = read(claude([SEARCH, FOUND], stop="end_turn"))
    assert events[0] == CallStartEvent(call_id="srv_1", name="web_search", served=True)
    assert not [it for it in events if isinstance(it, CallEvent)]
    call, result = (it.part for it in events if isinstance(it, PartEvent))
    assert isinstance(call, ToolCallPart)
    assert isinstance(result, ToolResultPart)
    assert (call.input, result.call_id) == ({"query": "x"}, "srv_1")
    assert done.message.parts == [call, result]


def test_a_tool_at_the_vendor_that_goes_on_pauses_the_answer() -> None:
    _, done = read(claude([SEARCH], stop="pause_turn"))
    assert (done.reason, done.message.parts) == ("pause", [OtherPart(value=SEARCH)])
    assert to_anthropic([done.message])[0]["content"] == [SEARCH]


def test_a_block_of_no_known_kind_is_kept() -> None:
    block = {"type": "hologram", "data": "x"}
    events, done = read(claude([block], stop="end_turn"))
    assert PartEvent(part=OtherPart(value=block)) in events
    assert to_anthropic([done.message])[0]["content"] == [block]


def test_arguments_that_are_no_object_are_kept() -> None:
    for raw, given in (('{"q": ', '{"q": '), ("[1]", [1])):
        events, done = read(claude([{**CALL_A, "input": raw}]))
        [call] = [it.part for it in events if isinstance(it, CallEvent)]
        assert call.input == given
        assert done.message.parts == [call]


def test_ids_of_calls_that_are_missing_or_the_same() -> None:
    nameless = {key: value for key, value in CALL_B.items() if key != "id"}
    events, done = read(claude([CALL_A, CALL_A, nameless]))
    ids = [it.part.call_id for it in events if isinstance(it, CallEvent)]
    assert ids == ["toolu_a", "toolu_a_2", "msg_1_2"]
    assert [it.call_id for it in done.message.parts if isinstance(it, ToolCallPart)] == ids


def test_a_thought_that_was_cut_off_is_not_sent_back_as_one() -> None:
    items = claude([THOUGHT])[:3]
    _, done = read(items)
    assert (done.reason, done.message.parts) == ("cut", [ReasoningPart(text="Look ")])
    assert to_anthropic([done.message], reasoning="omit") == []


def test_what_was_whole_before_the_cut_is_kept() -> None:
    whole = claude([SECRET, CITED, CALL_A])
    begun = next(i for i, it in enumerate(whole) if it.get("index") == 2)
    events, done = read(whole[: begun + 2])
    assert to_anthropic([done.message])[0]["content"] == [SECRET, CITED]
    assert not [it for it in events if isinstance(it, CallEvent)]
    assert done.usage is not None
    assert done.usage.input_tokens == 1200


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("something", "other"),
    ],
)
def test_why_it_ended(said: str, reason: str) -> None:
    _, done = read(claude([CITED], stop=said))
    assert (done.reason, done.said) == (reason, said)


def test_a_refusal() -> None:
    why: Any = {"type": "refusal", "category": None, "explanation": "Not that."}
    for details, told in ((why, "Not that."), (None, "")):
        events, done = read(claude([CITED], stop="refusal", stop_details=details))
        assert RefusalEvent(text=told) in events
        assert done.reason == "refusal"


def test_a_server_that_does_not_say_where_blocks_begin_and_end() -> None:
    left_out = ("content_block_start", "content_block_stop")
    items = [it for it in claude([THOUGHT, CITED], "end_turn") if it["type"] not in left_out]
    _, done = read(items)
    assert [it.text for it in done.message.parts if isinstance(it, (TextPart, ReasoningPart))] == [
        "Look it up.",
        "One moment.",
    ]


def test_a_call_whose_end_is_missing_is_whole_when_the_answer_is() -> None:
    items = [it for it in claude([CALL_A]) if it["type"] != "content_block_stop"]
    events, done = read(items)
    assert [it.part for it in events if isinstance(it, CallEvent)] == done.message.parts


def test_text_that_stands_in_the_beginning_of_a_block() -> None:
    block: Json = {"type": "text", "text": "Hello"}
    started = {"type": "content_block_start", "index": 0, "content_block": block}
    events, done = read([{"type": "ping"}, started])
    assert events == [TextEvent(text="Hello")]
    assert done.message.parts == [TextPart(text="Hello")]


def test_an_error_among_plain_events() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    told, done = EventStream([error])
    assert told == ErrorEvent(message="Overloaded", code="overloaded_error")
    assert isinstance(done, DoneEvent)
    assert done.reason == "error"

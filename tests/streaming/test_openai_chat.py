"""Chat completions, as OpenAI streams them and as other servers do."""

from __future__ import annotations

from typing import Any

import pytest
from endpoint import completions

from sapwood import ReasoningPart, TextPart, ToolCallPart
from sapwood.formats import to_openai_chat
from sapwood.model import Usage
from sapwood.streaming import (
    ArgumentsEvent,
    CallEvent,
    CallStartEvent,
    DoneEvent,
    ErrorEvent,
    EventStream,
    ReasoningEvent,
    RefusalEvent,
    StreamEvent,
    TextEvent,
    UsageEvent,
)

from .answers import Json, chat, chat_call


def read(*deltas: Json, finish: str | None = "stop") -> tuple[list[StreamEvent], DoneEvent]:
    """Read deltas, and return the events before the last, and that one."""
    chunks = [*map(completions.chunk, deltas), completions.chunk({}, finish=finish)]
    *events, done = EventStream(chunks)
    assert isinstance(done, DoneEvent)
    return events, done


def calls_of(*calls: Json, finish: str = "tool_calls") -> list[ToolCallPart]:
    events, done = read(*({"tool_calls": [call]} for call in calls), finish=finish)
    given = [it.part for it in events if isinstance(it, CallEvent)]
    assert given == [it for it in done.message.parts if isinstance(it, ToolCallPart)]
    begun = [it.call_id for it in events if isinstance(it, CallStartEvent)]
    assert begun == [it.call_id for it in given]
    assert len(set(begun)) == len(begun)
    return given


def test_a_whole_answer() -> None:
    *events, usage, done = EventStream(chat())
    assert events == [
        ReasoningEvent(text="Look "),
        ReasoningEvent(text="it up."),
        TextEvent(text="One "),
        TextEvent(text="moment."),
        CallStartEvent(call_id="call_a", name="find"),
        ArgumentsEvent(call_id="call_a", text='{"q": '),
        CallStartEvent(call_id="call_b", name="weather"),
        ArgumentsEvent(call_id="call_b", text='{"city":'),
        ArgumentsEvent(call_id="call_a", text='"x"}'),
        ArgumentsEvent(call_id="call_b", text='"Lisbon"}'),
        CallEvent(
            part=ToolCallPart(
                call_id="call_a",
                name="find",
                input={"q": "x"},
                extra={"openai_chat": {"raw": '{"q": "x"}'}},
            )
        ),
        CallEvent(part=ToolCallPart(call_id="call_b", name="weather", input={"city": "Lisbon"})),
    ]
    cost = Usage(
        id="chatcmpl-1",
        model="small-1",
        input_tokens=1200,
        output_tokens=80,
        cached_tokens=1024,
        reasoning_tokens=30,
    )
    assert usage == UsageEvent(usage=cost)
    assert isinstance(done, DoneEvent)
    assert (done.reason, done.said, done.id) == ("tool_calls", "tool_calls", "chatcmpl-1")
    assert done.usage == cost
    [written] = to_openai_chat([done.message])
    assert written["reasoning_content"] == "Look it up."
    assert written["content"] == "One moment."
    assert [it["function"]["arguments"] for it in written["tool_calls"]] == [
        '{"q": "x"}',
        '{"city":"Lisbon"}',
    ]


@pytest.mark.parametrize(
    "calls",
    [
        # Each with its index, one after the other and mixed.
        [chat_call(0, "a", "f", '{"x":1}'), chat_call(1, "b", "f", '{"x":2}')],
        [
            chat_call(0, "a", "f", ""),
            chat_call(1, "b", "f", ""),
            chat_call(0, None, None, '{"x":1}'),
            chat_call(1, None, None, '{"x":2}'),
        ],
        # All with the same index, and with none.
        [chat_call(0, "a", "f", '{"x":1}'), chat_call(0, "b", "f", '{"x":2}')],
        [chat_call(None, "a", "f", '{"x":1}'), chat_call(None, "b", "f", '{"x":2}')],
        [chat_call(None, None, "f", '{"x":1}'), chat_call(None, None, "f", '{"x":2}')],
        # Without ids, with the same id, and with an id that is empty.
        [chat_call(0, None, "f", '{"x":1}'), chat_call(1, None, "f", '{"x":2}')],
        [chat_call(0, "a", "f", '{"x":1}'), chat_call(1, "a", "f", '{"x":2}')],
        [chat_call(0, "", "f", '{"x":1}'), chat_call(1, "", "f", '{"x":2}')],
        # A new id with each piece; the id and the name with each piece.
        [
            chat_call(0, "a", "f", '{"x"'),
            {**chat_call(0, "b", None, ":1}")},
            chat_call(1, "c", "f", '{"x":2}'),
        ],
        [
            chat_call(0, "a", "f", '{"x"'),
            chat_call(0, "a", "f", ":1}"),
            chat_call(1, "b", "f", '{"x":2}'),
        ],
        # The name after the index, and arguments that are an object.
        [
            chat_call(0, "a", "", ""),
            chat_call(0, None, "f", '{"x":1}'),
            chat_call(1, "b", "f", {"x": 2}),
        ],
    ],
)
def test_two_calls_however_a_server_sends_them(calls: list[Json]) -> None:
    assert [(it.name, it.input) for it in calls_of(*calls)] == [("f", {"x": 1}), ("f", {"x": 2})]


def test_ids_that_are_sent_are_kept() -> None:
    sent = calls_of(chat_call(0, "a", "f", "{}"), chat_call(1, "a", "f", "{}"))
    assert [it.call_id for it in sent] == ["a", "a_2"]
    missing = calls_of(chat_call(0, None, "f", "{}"), chat_call(1, None, "f", "{}"))
    assert [it.call_id for it in missing] == ["chatcmpl-1_0", "chatcmpl-1_1"]


def test_arguments_that_are_no_json_stay_text() -> None:
    [call] = calls_of(chat_call(0, "a", "f", '{"x": '))
    assert call.input == '{"x": '
    assert call.extra == {"openai_chat": {"raw": '{"x": '}}
    assert calls_of(chat_call(0, "a", "f", ""))[0].input == {}


def test_calls_count_where_a_server_says_stop() -> None:
    _, done = read({"tool_calls": [chat_call(0, "a", "f", "{}")]}, finish="stop")
    assert (done.reason, done.said) == ("tool_calls", "stop")


def test_a_call_without_its_end_is_none() -> None:
    deltas = [{"content": "hm"}, {"tool_calls": [chat_call(0, "a", "f", "{}")]}]
    events, done = read(*deltas, finish=None)
    assert not [it for it in events if isinstance(it, CallEvent)]
    assert (done.reason, done.message.parts) == ("cut", [TextPart(text="hm")])


def test_the_state_that_a_vendor_wants_back_is_kept() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "sig"}}}
    details = [
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Look "}]},
        {"reasoning_details": [{"index": 0, "text": "up."}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}]},
    ]
    _, done = read(*details, {"tool_calls": [{**chat_call(0, "a", "f", "{}"), **signed}]})
    [written] = to_openai_chat([done.message])
    assert written["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "Look up."},
        {"type": "reasoning.encrypted", "index": 1, "data": "x"},
    ]
    assert written["tool_calls"][0]["extra_content"] == signed["extra_content"]


def test_a_custom_tool_and_the_older_form_of_a_call() -> None:
    custom = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "SELECT"}}
    assert [(it.name, it.input) for it in calls_of(custom)] == [("sql", "SELECT")]
    older = [
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": "{}"}},
    ]
    events, done = read(*older, finish="function_call")
    [call] = done.message.parts
    assert events == [CallEvent(part=call)]  # type: ignore[arg-type]
    assert done.reason == "tool_calls"
    assert to_openai_chat([done.message])[0]["function_call"]["arguments"] == "{}"


def test_a_thought_that_comes_under_two_names_is_told_once() -> None:
    events, done = read({"reasoning": "hm", "reasoning_content": "hm"}, {"reasoning": "!"})
    assert events == [ReasoningEvent(text="hm"), ReasoningEvent(text="!")]
    [part] = done.message.parts
    assert isinstance(part, ReasoningPart)
    assert part.text == "hm!"


def test_a_refusal() -> None:
    events, done = read({"refusal": "I can"}, {"refusal": "not."})
    assert events == [RefusalEvent(text="I can"), RefusalEvent(text="not.")]
    assert (done.reason, done.said) == ("refusal", "stop")
    assert to_openai_chat([done.message])[0]["refusal"] == "I cannot."


@pytest.mark.parametrize(
    ("said", "reason"),
    [("length", "length"), ("content_filter", "content_filter"), ("something", "other")],
)
def test_why_it_ended(said: str, reason: str) -> None:
    _, done = read({"content": "x"}, finish=said)
    assert (done.reason, done.said) == (reason, said)


def test_chunks_that_say_nothing() -> None:
    chunks: list[Any] = [
        # As Azure begins.
        {**completions.chunk({}), "id": "", "choices": [], "prompt_filter_results": []},
        completions.chunk({"role": "assistant", "content": ""}),
        completions.chunk({"content": None}),
        {**completions.chunk({}), "choices": [{"index": 0, "delta": None, "finish_reason": ""}]},
        {**completions.chunk({}), "choices": [{"index": 1, "delta": {"content": "other"}}]},
        completions.chunk({"content": "x"}),
        completions.chunk({}, finish="stop"),
    ]
    text, done = EventStream(chunks)
    assert text == TextEvent(text="x")
    assert isinstance(done, DoneEvent)
    assert (done.id, done.usage) == ("chatcmpl-1", None)


def test_usage_with_every_chunk_is_told_once_as_it_was_last() -> None:
    def counted(tokens: int, **fields: Any) -> Json:
        usage = {"prompt_tokens": 5, "completion_tokens": tokens}
        return {**completions.chunk({"content": "x"}, **fields), "usage": usage}

    events = list(EventStream([counted(1), counted(2), counted(3, finish="stop")]))
    [usage] = [it for it in events if isinstance(it, UsageEvent)]
    assert usage.usage.output_tokens == 3
    *_, cut = EventStream([counted(1), counted(2)])
    assert isinstance(cut, DoneEvent)
    assert cut.usage is not None
    assert (cut.reason, cut.usage.output_tokens) == ("cut", 2)


def test_usage_goes_under_the_model_that_was_asked_where_none_is_named() -> None:
    chunk = {**completions.chunk({}, finish="stop"), "usage": completions.USAGE}
    del chunk["model"]
    usage, _ = EventStream([chunk], model="mine")
    assert isinstance(usage, UsageEvent)
    assert usage.usage.model == "mine"


def test_an_error_among_plain_chunks() -> None:
    error = {"error": {"message": "CUDA out of memory", "code": 500}}
    for before in ([], [completions.chunk({"content": "x"})]):
        *_, told, done = EventStream([*before, error])
        assert told == ErrorEvent(message="CUDA out of memory", code="500")
        assert isinstance(done, DoneEvent)
        assert (done.reason, len(done.message.parts)) == ("error", len(before))


def test_a_character_that_was_cut_in_two_is_whole_in_the_message() -> None:
    _, done = read({"content": "\ud83d"}, {"content": "\ude00"}, {"content": "\ud83d"})
    assert done.message.parts == [TextPart(text="😀\ufffd")]

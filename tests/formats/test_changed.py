"""What was changed after it was read is written as changed."""

from __future__ import annotations

from typing import Any

import msgspec

from sapwood import NewMessage, TextPart, ToolCallPart, ToolResultPart, formats
from sapwood.model import Part

CALL = {"name": "f", "arguments": '{ "a": 1 }'}


def changed(message: NewMessage, place: int, **fields: Any) -> NewMessage:
    parts: list[Part] = [*message.parts]
    parts[place] = msgspec.structs.replace(parts[place], **fields)
    return msgspec.structs.replace(message, parts=parts)


def test_changed_text_is_written_with_what_was_said_about_it() -> None:
    block = {"type": "text", "text": "long", "cache_control": {"type": "ephemeral"}}
    [message] = formats.from_anthropic({"role": "user", "content": [block]})
    assert formats.to_anthropic([changed(message, 0, text="short")]) == [
        {"role": "user", "content": [{**block, "text": "short"}]}
    ]


def test_changed_arguments_are_written_anew() -> None:
    value = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": CALL}],
    }
    [message] = formats.from_openai_chat(value)
    [written] = formats.to_openai_chat([changed(message, 0, input={"a": 2})])
    assert written["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a":2}'}
    # To Python 1 and True are the same, to JSON they are not.
    [written] = formats.to_openai_chat([changed(message, 0, input={"a": True})])
    assert written["tool_calls"][0]["function"]["arguments"] == '{"a":true}'
    [item] = formats.from_openai_responses({"type": "function_call", "call_id": "1", **CALL})
    [written] = formats.to_openai_responses([changed(item, 0, input=None)])
    assert written["arguments"] == "{}"


def test_a_changed_output_is_written_anew() -> None:
    value = {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "long"}]}
    [message] = formats.from_openai_chat(value)
    assert formats.to_openai_chat([changed(message, 0, output="short")]) == [
        {**value, "content": "short"}
    ]
    [written] = formats.to_openai_chat([changed(message, 0, output={"a": 1})])
    assert written["content"] == '{"a":1}'


def test_changed_reasoning_is_one_summary() -> None:
    summary = [{"type": "summary_text", "text": it} for it in ("one", "two")]
    [message] = formats.from_openai_responses({"type": "reasoning", "id": "r", "summary": summary})
    [written] = formats.to_openai_responses([changed(message, 0, text="short")])
    assert written["summary"] == [{"type": "summary_text", "text": "short"}]


def test_an_added_part_is_written_too() -> None:
    [message] = formats.from_openai_chat({"role": "user", "content": "hi", "name": "ada"})
    more = msgspec.structs.replace(message, parts=[*message.parts, TextPart(text="there")])
    [written] = formats.to_openai_chat([more])
    assert written["name"] == "ada"
    assert [part["text"] for part in written["content"]] == ["hi", "there"]


def test_what_is_kept_of_a_message_is_not_said_of_a_piece_of_it() -> None:
    said = {"role": "user", "content": "hi", "mood": "calm", "name": "ada"}
    [message] = formats.from_openai_chat(said)
    result = ToolResultPart(call_id="1", output="x")
    more = msgspec.structs.replace(message, parts=[result, *message.parts])
    assert formats.to_openai_chat([more]) == [
        {"role": "tool", "tool_call_id": "1", "content": "x"},
        {"role": "user", "content": "hi", "name": "ada"},
    ]
    item = {"role": "assistant", "content": "hi", "phase": "commentary"}
    [message] = formats.from_openai_responses(item)
    more = msgspec.structs.replace(message, parts=[result, *message.parts])
    assert formats.to_openai_responses([more])[1] == {"role": "assistant", "content": "hi"}


def asking(state: str, **fields: Any) -> NewMessage:
    part = {"type": "tool-f", "toolCallId": "1", "state": state, "input": {}, **fields}
    return formats.from_ai_sdk({"id": "m", "role": "assistant", "parts": [part]})[0]


def test_a_call_that_was_answered_since_is_not_shown_as_waiting() -> None:
    answer = NewMessage(role="tool", parts=[ToolResultPart(call_id="1", output="done")])
    for message in (asking("approval-requested", approval={"id": "a"}), asking("input-streaming")):
        [written] = formats.to_ai_sdk([message, answer])
        [part] = written["parts"]
        assert part == {
            "type": "tool-f",
            "toolCallId": "1",
            "state": "output-available",
            "input": {},
            "output": "done",
        }


def test_a_call_that_lost_its_answer_is_shown_as_waiting() -> None:
    approval = {"id": "a", "approved": True}
    for message in (
        asking("output-available", output=1, preliminary=True, approval=approval),
        asking("output-denied", approval={"id": "a", "approved": False}),
    ):
        alone = msgspec.structs.replace(message, parts=message.parts[:1])
        [part] = formats.to_ai_sdk([alone])[0]["parts"]
        assert part["state"] == "input-available"
        assert part.keys() == {"type", "toolCallId", "state", "input"}


def test_a_served_call_that_lost_its_answer_is_a_call_like_any_other() -> None:
    item = {"type": "mcp_call", "id": "1", "name": "f", "arguments": "{}", "output": "x"}
    [message] = formats.from_openai_responses(item)
    alone = msgspec.structs.replace(message, parts=message.parts[:1])
    assert formats.to_openai_responses([alone])[0]["type"] == "function_call"


def test_metadata_that_only_looks_like_ours_does_no_harm() -> None:
    names = ("openai_chat", "openai_responses", "anthropic", "ai_sdk")
    for rest in (None, "x", [], {"set": 1, "drop": 2, "within": 3, "type": 4, "raw": 5}):
        strange = dict.fromkeys(names, rest)
        call = ToolCallPart(call_id="1", name="f", input={}, extra=strange)
        part = TextPart(text="hi", extra=strange)
        message = NewMessage(role="assistant", parts=[part, call], metadata=strange)
        for write in (
            formats.to_openai_chat,
            formats.to_openai_responses,
            formats.to_anthropic,
            formats.to_ai_sdk,
        ):
            assert "hi" in str(write([message]))


def test_a_speakers_name_goes_to_and_fro_and_may_be_another() -> None:
    said = {"role": "user", "content": "hello", "name": "ada"}
    [message] = formats.from_openai_chat(said)
    assert (message.name, message.metadata) == ("ada", {})
    assert formats.to_openai_chat([message]) == [said]
    other = msgspec.structs.replace(message, name="Bob é")
    [written] = formats.to_openai_chat([other], wire=True)
    assert written["name"].startswith("Bob_")
    assert formats.to_anthropic([other]) == [{"role": "user", "content": "hello"}]


def test_a_name_that_was_kept_before_there_were_names_is_still_written() -> None:
    kept = {"openai_chat": {"set": {"name": "ada"}}}
    stored = NewMessage(role="user", parts=[TextPart(text="hello")], metadata=kept)
    assert formats.to_openai_chat([stored])[0]["name"] == "ada"


def test_what_is_no_name_of_ours_is_kept_as_it_came() -> None:
    for name in ("", "a\n", "x" * 300, None, 5):
        said = {"role": "assistant", "content": "hello", "name": name}
        [message] = formats.from_openai_chat(said)
        assert message.name is None
        assert formats.to_openai_chat([message]) == [said]


def test_a_name_stays_with_what_was_said_beside_calls_and_results() -> None:
    parts: list[Part] = [
        TextPart(text="look"),
        ToolCallPart(call_id="1", name="f", input={}),
        ToolResultPart(call_id="1", output="x"),
        TextPart(text="done"),
    ]
    message = NewMessage(role="assistant", parts=parts, name="ada")
    written = formats.to_openai_chat([message])
    assert [it.get("name") for it in written] == ["ada", None, "ada"]

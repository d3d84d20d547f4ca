"""What a format says becomes typed parts, so that search, tokens, pairs and summaries see it."""

from __future__ import annotations

from typing import Any

import pytest

import sapwood
from sapwood import (
    FilePart,
    OtherPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    formats,
)
from sapwood.model import Part

PNG = "data:image/png;base64,AAEC"


def bare(part: Part) -> Part:
    """Give a part without what is kept beside it."""
    if isinstance(part, OtherPart):
        return part
    fields = {name: getattr(part, name) for name in part.__struct_fields__ if name != "extra"}
    return type(part)(**fields)


def one(messages: list[sapwood.NewMessage]) -> list[Part]:
    [message] = messages
    return [bare(part) for part in message.parts]


CHAT: list[tuple[Any, list[Part]]] = [
    ({"role": "user", "content": "hi"}, [TextPart(text="hi")]),
    (
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://x.org/a"}},
                {"type": "input_audio", "input_audio": {"data": "AAEC", "format": "mp3"}},
                {
                    "type": "file",
                    "file": {"file_data": "data:application/pdf;base64,AAEC", "filename": "a.pdf"},
                },
                {"type": "file", "file": {"file_id": "file-1"}},
            ],
        },
        [
            FilePart(media_type="image/png", data=b"\0\1\2"),
            FilePart(media_type="image/*", uri="https://x.org/a"),
            FilePart(media_type="audio/mpeg", data=b"\0\1\2"),
            FilePart(media_type="application/pdf", data=b"\0\1\2", name="a.pdf"),
            FilePart(media_type="application/octet-stream", uri="openai:file-1"),
        ],
    ),
    (
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "refusal": "no",
            "audio": {"id": "a", "transcript": "hello"},
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
                {"id": "2", "type": "function", "function": {"name": "g", "arguments": ""}},
                {"id": "3", "type": "function", "function": {"name": "h", "arguments": "{oops"}},
                {"id": "4", "type": "custom", "custom": {"name": "i", "input": "x"}},
            ],
        },
        [
            ReasoningPart(text="hm"),
            TextPart(text="no"),
            TextPart(text="hello"),
            ToolCallPart(call_id="1", name="f", input={"a": 1}),
            ToolCallPart(call_id="2", name="g", input={}),
            ToolCallPart(call_id="3", name="h", input="{oops"),
            ToolCallPart(call_id="4", name="i", input="x"),
        ],
    ),
    (
        {"role": "tool", "tool_call_id": "1", "content": "sunny"},
        [ToolResultPart(call_id="1", output="sunny")],
    ),
    (
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        [ToolCallPart(call_id="f", name="f", input={})],
    ),
    (
        {"role": "function", "name": "f", "content": "sunny"},
        [ToolResultPart(call_id="f", output="sunny")],
    ),
]

RESPONSES: list[tuple[Any, list[Part]]] = [
    ({"role": "user", "content": "hi"}, [TextPart(text="hi")]),
    (
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "hi", "annotations": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
        [TextPart(text="hi"), TextPart(text="no")],
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": PNG, "detail": "auto"},
                {"type": "input_file", "file_url": "https://x.org/a.pdf"},
            ],
        },
        [
            FilePart(media_type="image/png", data=b"\0\1\2"),
            FilePart(media_type="application/octet-stream", uri="https://x.org/a.pdf"),
        ],
    ),
    (
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": it} for it in ("one", "two")],
            "content": [{"type": "reasoning_text", "text": "three"}],
            "encrypted_content": "xyz",
        },
        [ReasoningPart(text="one\n\ntwo\n\nthree")],
    ),
    (
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}", "id": "fc_1"},
        [ToolCallPart(call_id="1", name="f", input={})],
    ),
    (
        {"type": "function_call_output", "call_id": "1", "output": "sunny"},
        [ToolResultPart(call_id="1", output="sunny")],
    ),
    (
        {"type": "local_shell_call", "call_id": "1", "id": "lsh_1", "action": {"command": ["ls"]}},
        [ToolCallPart(call_id="1", name="local_shell", input={"command": ["ls"]})],
    ),
    (
        {"type": "local_shell_call_output", "id": "1", "output": "a.txt"},
        [ToolResultPart(call_id="1", output="a.txt")],
    ),
    (
        {
            "type": "mcp_call",
            "id": "mcp_1",
            "name": "f",
            "arguments": "{}",
            "server_label": "s",
            "output": "sunny",
            "error": None,
        },
        [
            ToolCallPart(call_id="mcp_1", name="f", input={}),
            ToolResultPart(call_id="mcp_1", output="sunny"),
        ],
    ),
    (
        {"type": "image_generation_call", "id": "ig_1", "result": "AAEC", "status": "completed"},
        [FilePart(media_type="image/png", data=b"\0\1\2")],
    ),
    (
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        [OtherPart(value={"type": "web_search_call", "id": "ws_1", "status": "completed"})],
    ),
]

ANTHROPIC: list[tuple[Any, list[Part]]] = [
    ({"role": "user", "content": "hi"}, [TextPart(text="hi")]),
    (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "xyz"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "text", "text": "hi", "citations": None},
                {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
                {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "2", "content": []},
            ],
        },
        [
            ReasoningPart(text="hm"),
            ReasoningPart(text=""),
            TextPart(text="hi"),
            ToolCallPart(call_id="1", name="f", input={"a": 1}),
            ToolCallPart(call_id="2", name="web_search", input={}),
            ToolResultPart(call_id="2", output=[]),
        ],
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": True},
                {"type": "tool_result", "tool_use_id": "2"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"},
                },
                {
                    "type": "document",
                    "title": "notes",
                    "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
                },
                {"type": "document", "source": {"type": "file", "file_id": "f_1"}},
            ],
        },
        [
            ToolResultPart(call_id="1", output="no", is_error=True),
            ToolResultPart(call_id="2", output=None),
            FilePart(media_type="image/png", data=b"\0\1\2"),
            FilePart(media_type="text/plain", data=b"hello", name="notes"),
            FilePart(media_type="application/octet-stream", uri="anthropic:f_1"),
        ],
    ),
]

UI: list[tuple[Any, list[Part]]] = [
    (
        {
            "id": "m",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm", "state": "done"},
                {"type": "text", "text": "hi", "state": "done"},
                {"type": "file", "mediaType": "image/png", "url": PNG, "filename": "a.png"},
                {
                    "type": "tool-f",
                    "toolCallId": "1",
                    "state": "output-available",
                    "input": {"a": 1},
                    "output": {"b": 2},
                },
                {
                    "type": "dynamic-tool",
                    "toolName": "g",
                    "toolCallId": "2",
                    "state": "output-error",
                    "input": {},
                    "errorText": "no",
                },
                {
                    "type": "tool-h",
                    "toolCallId": "3",
                    "state": "approval-requested",
                    "input": {},
                    "approval": {"id": "a"},
                },
                {
                    "type": "tool-i",
                    "toolCallId": "4",
                    "state": "output-denied",
                    "input": {},
                    "approval": {"id": "a", "approved": False, "reason": "too dear"},
                },
                {"type": "data-x", "data": 1},
            ],
        },
        [
            OtherPart(value={"type": "step-start"}),
            ReasoningPart(text="hm"),
            TextPart(text="hi"),
            FilePart(media_type="image/png", data=b"\0\1\2", name="a.png"),
            ToolCallPart(call_id="1", name="f", input={"a": 1}),
            ToolResultPart(call_id="1", output={"b": 2}),
            ToolCallPart(call_id="2", name="g", input={}),
            ToolResultPart(call_id="2", output="no", is_error=True),
            ToolCallPart(call_id="3", name="h", input={}),
            ToolCallPart(call_id="4", name="i", input={}),
            ToolResultPart(call_id="4", output="too dear", is_error=True),
            OtherPart(value={"type": "data-x", "data": 1}),
        ],
    ),
]


@pytest.mark.parametrize(("value", "parts"), CHAT)
def test_a_chat_message_becomes_typed_parts(value: Any, parts: list[Part]) -> None:
    assert one(formats.from_openai_chat(value)) == parts


@pytest.mark.parametrize(("value", "parts"), RESPONSES)
def test_a_responses_item_becomes_typed_parts(value: Any, parts: list[Part]) -> None:
    assert one(formats.from_openai_responses(value)) == parts


@pytest.mark.parametrize(("value", "parts"), ANTHROPIC)
def test_an_anthropic_message_becomes_typed_parts(value: Any, parts: list[Part]) -> None:
    assert one(formats.from_anthropic(value)) == parts


@pytest.mark.parametrize(("value", "parts"), UI)
def test_a_ui_message_becomes_typed_parts(value: Any, parts: list[Part]) -> None:
    assert one(formats.from_ai_sdk(value)) == parts


def test_plain_values_leave_nothing_beside_them() -> None:
    plain = [
        *formats.from_openai_chat(
            [
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "1",
                            "type": "function",
                            "function": {"name": "f", "arguments": '{"a":1}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "sunny"},
            ]
        ),
        *formats.from_anthropic(
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "hi"},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {}},
                ],
            }
        ),
        *formats.from_openai_responses({"role": "user", "content": "hi"}),
        *formats.from_ai_sdk(
            {"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
        ),
    ]
    for message in plain:
        assert message.metadata == {}
        assert all(part.extra == {} for part in message.parts if not isinstance(part, OtherPart))


def test_of_a_list_with_one_text_only_that_it_was_a_list_is_kept() -> None:
    text = [{"type": "text", "text": "hi"}]
    [chat] = formats.from_openai_chat({"role": "user", "content": text})
    [claude] = formats.from_anthropic({"role": "user", "content": text})
    [item] = formats.from_openai_responses(
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    )
    assert chat.metadata == {"openai_chat": {"list": True}}
    assert claude.metadata == {"anthropic": {"list": True}}
    assert item.metadata == {"openai_responses": {"list": True}}


def test_arguments_that_a_store_could_not_hold_stay_a_string() -> None:
    for raw in ("[" * 600 + "]" * 600, "[1e400]", '{"n":NaN}'):
        function = {"name": "f", "arguments": raw}
        call = {"id": "1", "type": "function", "function": function}
        value = {"role": "assistant", "content": None, "tool_calls": [call]}
        [message] = formats.from_openai_chat(value)
        assert [bare(part) for part in message.parts] == [
            ToolCallPart(call_id="1", name="f", input=raw)
        ]
        with sapwood.open("memory://") as sessions:
            stored = sessions.session("chat").append_all([message])
        assert formats.to_openai_chat(stored) == [value]


def test_of_what_the_assistant_said_only_its_frame_is_kept() -> None:
    content = [{"type": "output_text", "text": "hi", "annotations": []}]
    frame = {"type": "message", "id": "msg_1", "status": "completed"}
    item = {**frame, "role": "assistant", "content": content}
    [message] = formats.from_openai_responses(item)
    assert message.parts == [TextPart(text="hi")]
    assert message.metadata == {"openai_responses": {"list": True, "set": frame}}


def test_a_tool_at_the_vendor_that_is_still_running_is_carried_as_it_is() -> None:
    use = {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}}
    result = {"type": "web_search_tool_result", "tool_use_id": "1", "content": []}
    for block in (use, result):
        [part] = one(formats.from_anthropic({"role": "assistant", "content": [block]}))
        assert part == OtherPart(value=block)
    call = {"type": "mcp_call", "id": "1", "name": "f", "arguments": "{}", "output": None}
    assert one(formats.from_openai_responses(call)) == [OtherPart(value=call)]


def test_a_failure_of_a_tool_at_the_vendor_is_an_error() -> None:
    use = {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}}
    failure = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    result = {"type": "web_search_tool_result", "tool_use_id": "1", "content": failure}
    [message] = formats.from_anthropic({"role": "assistant", "content": [use, result]})
    part = message.parts[1]
    assert isinstance(part, ToolResultPart)
    assert part.is_error
    assert part.extra == {"anthropic": {"type": "web_search_tool_result", "verbatim": True}}


def test_bytes_that_would_not_come_out_as_they_went_in_stay_a_url() -> None:
    odd = "data:image/png;base64,AB=="
    image = {"type": "image_url", "image_url": {"url": odd}}
    [part] = one(formats.from_openai_chat({"role": "user", "content": [image]}))
    assert part == FilePart(media_type="image/png", uri=odd)
    file = {"type": "file", "mediaType": "text/plain", "url": PNG}
    [part] = one(formats.from_ai_sdk({"id": "m", "role": "user", "parts": [file]}))
    assert part == FilePart(media_type="text/plain", uri=PNG)
    any_image = {**file, "mediaType": "image/*"}
    [part] = one(formats.from_ai_sdk({"id": "m", "role": "user", "parts": [any_image]}))
    assert part == FilePart(media_type="image/png", data=b"\0\1\2")


def test_ids_of_clients_are_the_ids_of_messages() -> None:
    [ui] = formats.from_ai_sdk({"id": "m-1", "role": "user", "parts": []})
    [item] = formats.from_openai_responses(
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    )
    [reference] = formats.from_openai_responses({"type": "item_reference", "id": "fc_1"})
    [reply] = formats.from_anthropic({"id": "msg_1", "role": "assistant", "content": "hi"})
    assert (ui.id, item.id, reference.id, reply.id) == ("m-1", "fc_1", None, "msg_1")
    assert formats.from_openai_chat({"role": "user", "content": "hi"})[0].id is None


def test_an_id_that_cannot_be_a_messages_is_kept_beside_it() -> None:
    value = {"id": "", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    [message] = formats.from_ai_sdk(value)
    assert message.id is None
    assert formats.to_ai_sdk([message]) == [value]


def test_a_ui_message_without_an_id_gets_the_stored_one() -> None:
    with sapwood.open("memory://") as sessions:
        chat = sessions.session("chat")
        chat.append_all(
            formats.from_ai_sdk([{"role": "user", "parts": [{"type": "text", "text": "hi"}]}])
        )
        [stored] = chat.history().messages_only
    assert formats.to_ai_sdk([stored])[0]["id"] == stored.id


def test_metadata_of_a_ui_message_is_that_of_the_message() -> None:
    value = {"id": "m", "role": "user", "parts": [], "metadata": {"model": "x"}}
    [message] = formats.from_ai_sdk(value)
    assert message.metadata == {"model": "x"}
    clash = {**value, "metadata": {"anthropic": 1}}
    assert formats.to_ai_sdk(formats.from_ai_sdk(clash)) == [clash]
    poison = {**value, "metadata": {"openai_chat": {"set": {"name": "eve"}}}}
    assert formats.to_ai_sdk(formats.from_ai_sdk(poison)) == [poison]
    assert "eve" not in str(formats.to_openai_chat(formats.from_ai_sdk(poison)))


def test_what_was_said_in_any_format_is_found() -> None:
    with sapwood.open("memory://") as sessions:
        for name, messages in {
            "chat": formats.from_openai_chat([value for value, _ in CHAT]),
            "ui": formats.from_ai_sdk([value for value, _ in UI]),
            "claude": formats.from_anthropic([value for value, _ in ANTHROPIC]),
            "responses": formats.from_openai_responses([value for value, _ in RESPONSES]),
        }.items():
            sessions.session(name).append_all(messages, allow_orphans=True)
        found = {hit.session for hit in sessions.search("hi").hits}
        assert found == {"chat", "ui", "claude", "responses"}
        assert {hit.session for hit in sessions.search("sunny").hits} == {"chat", "responses"}

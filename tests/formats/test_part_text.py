"""What a format cannot say is said as text, and files go over wherever they can."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import (
    FilePart,
    NewMessage,
    OtherPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    formats,
)
from sapwood.model import Part

PNG = FilePart(media_type="image/png", data=b"\0\1\2", name="a.png")
PDF = FilePart(media_type="application/pdf", data=b"\0\1\2", name="a.pdf")
WEB = FilePart(media_type="image/*", uri="https://x.org/a")
NOTES = FilePart(media_type="text/plain", data=b"hello", name="n.txt")
VIDEO = FilePart(media_type="video/mp4", data=b"\0\1\2", name="v.mp4")
SOUND = FilePart(media_type="audio/wav", data=b"\0\1\2")
URL = "data:image/png;base64,AAEC"
NOTE = "[file v.mp4 (video/mp4), 3 bytes]"

CHAT = [
    (PNG, {"type": "image_url", "image_url": {"url": URL}}),
    (WEB, {"type": "image_url", "image_url": {"url": "https://x.org/a"}}),
    (
        PDF,
        {
            "type": "file",
            "file": {"file_data": "data:application/pdf;base64,AAEC", "filename": "a.pdf"},
        },
    ),
    (SOUND, {"type": "input_audio", "input_audio": {"data": "AAEC", "format": "wav"}}),
    (NOTES, {"type": "text", "text": "[file n.txt (text/plain)]\nhello"}),
    (VIDEO, {"type": "text", "text": NOTE}),
]
RESPONSES = [
    (PNG, {"type": "input_image", "detail": "auto", "image_url": URL}),
    (
        PDF,
        {
            "type": "input_file",
            "file_data": "data:application/pdf;base64,AAEC",
            "filename": "a.pdf",
        },
    ),
    (VIDEO, {"type": "input_text", "text": NOTE}),
]
ANTHROPIC = [
    (
        PNG,
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"}},
    ),
    (WEB, {"type": "image", "source": {"type": "url", "url": "https://x.org/a"}}),
    (
        PDF,
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "AAEC"},
            "title": "a.pdf",
        },
    ),
    (
        NOTES,
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
            "title": "n.txt",
        },
    ),
    (VIDEO, {"type": "text", "text": NOTE}),
]


def user(*parts: Part) -> list[NewMessage]:
    return [NewMessage(role="user", parts=[TextPart(text="see"), *parts])]


@pytest.mark.parametrize(("part", "written"), CHAT)
def test_files_for_openai_chat(part: Part, written: Any) -> None:
    assert formats.to_openai_chat(user(part))[0]["content"][1] == written


@pytest.mark.parametrize(("part", "written"), RESPONSES)
def test_files_for_openai_responses(part: Part, written: Any) -> None:
    assert formats.to_openai_responses(user(part))[0]["content"][1] == written


@pytest.mark.parametrize(("part", "written"), ANTHROPIC)
def test_files_for_anthropic(part: Part, written: Any) -> None:
    assert formats.to_anthropic(user(part))[0]["content"][1] == written


def test_what_is_no_base64_is_not_sent_as_a_file() -> None:
    broken = FilePart(media_type="image/png", uri="data:image/png;base64,oops!")
    for write in (formats.to_openai_chat, formats.to_openai_responses, formats.to_anthropic):
        assert write(user(broken))[0]["content"][1]["text"] == "[file image/png]"


def test_a_file_that_the_assistant_made_is_named() -> None:
    made = [NewMessage(role="assistant", parts=[PNG])]
    note = "[file a.png (image/png), 3 bytes]"
    for write in (formats.to_openai_chat, formats.to_openai_responses, formats.to_anthropic):
        assert write(made) == [{"role": "assistant", "content": note}]
    [shown] = formats.to_ai_sdk(made)
    assert shown["parts"] == [
        {"type": "file", "mediaType": "image/png", "url": URL, "filename": "a.png"}
    ]


def answer(output: Any) -> list[NewMessage]:
    call = ToolCallPart(call_id="1", name="f", input={})
    return [
        NewMessage(role="assistant", parts=[call]),
        NewMessage(role="tool", parts=[ToolResultPart(call_id="1", output=output)]),
    ]


OUTPUTS: list[list[dict[str, Any]]] = [
    [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"}},
    ],
    [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": URL, "detail": "low"},
    ],
    [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": URL}}],
    [{"type": "text", "text": "see"}, {"type": "image", "data": "AAEC", "mimeType": "image/png"}],
]


@pytest.mark.parametrize("output", OUTPUTS)
def test_text_and_images_of_a_tool_go_over_from_any_format(output: Any) -> None:
    claude = formats.to_anthropic(answer(output))[1]["content"][0]["content"]
    assert [block["type"] for block in claude] == ["text", "image"]
    assert claude[1]["source"]["data"] == "AAEC"
    responses = formats.to_openai_responses(answer(output))[1]["output"]
    assert [it["type"] for it in responses] == ["input_text", "input_image"]
    assert responses[1]["image_url"] == URL
    chat = formats.to_openai_chat(answer(output))[1]["content"]
    assert chat == "see\n[file image/png, 3 bytes]"


def test_a_failure_with_an_image_is_told_as_one() -> None:
    output = OUTPUTS[0]
    failed = ToolResultPart(call_id="1", output=output, is_error=True)
    [item] = formats.to_openai_responses([NewMessage(role="tool", parts=[failed])])
    assert item["output"][0] == {"type": "input_text", "text": "Error:"}


def test_a_result_of_our_own_is_of_the_kind_of_its_call() -> None:
    item = {"type": "custom_tool_call", "call_id": "1", "name": "f", "input": "x"}
    result = NewMessage(role="tool", parts=[ToolResultPart(call_id="1", output="y")])
    written = formats.to_openai_responses([*formats.from_openai_responses(item), result])
    assert written[1] == {"type": "custom_tool_call_output", "call_id": "1", "output": "y"}


def test_an_output_that_named_its_own_kind_keeps_it() -> None:
    call = {"type": "custom_tool_call", "call_id": "1", "name": "f", "input": "x"}
    values = [call, {"type": "function_call_output", "call_id": "1", "output": "y"}]
    assert formats.to_openai_responses(formats.from_openai_responses(values)) == values
    shell = {"type": "local_shell_call", "call_id": "1", "action": {}}
    values = [shell, {"type": "function_call_output", "call_id": "1", "output": "y"}]
    assert formats.to_openai_responses(formats.from_openai_responses(values)) == values


@pytest.mark.parametrize(
    ("output", "text"), [("x", "x"), (None, ""), ({"a": [1]}, '{"a":[1]}'), ([1, 2], "[1,2]")]
)
def test_any_other_output_is_text(output: Any, text: str) -> None:
    assert formats.to_openai_chat(answer(output))[1]["content"] == text
    assert formats.to_openai_responses(answer(output))[1]["output"] == text


def test_input_that_is_no_object_is_put_into_one_for_anthropic() -> None:
    for input, written in (("x", {"value": "x"}), (None, {}), ({"a": 1}, {"a": 1})):
        call = ToolCallPart(call_id="1", name="f", input=input)
        [message] = formats.to_anthropic([NewMessage(role="assistant", parts=[call])])
        assert message["content"][0]["input"] == written


def test_reasoning_goes_back_to_its_vendor_only() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": "xyz"}
    secret = {"type": "redacted_thinking", "data": "xyz"}
    messages = formats.from_anthropic({"role": "assistant", "content": [block, secret]})
    assert formats.to_anthropic(messages)[0]["content"] == [block, secret]
    text = "<reasoning>\nhm\n</reasoning>"
    assert formats.to_openai_chat(messages) == [{"role": "assistant", "content": text}]
    assert formats.to_openai_chat(messages, reasoning="omit") == []
    ours = [NewMessage(role="assistant", parts=[ReasoningPart(text="hm")])]
    assert formats.to_anthropic(ours) == [{"role": "assistant", "content": text}]


def test_what_is_not_known_is_told_with_its_type() -> None:
    part = OtherPart(value={"type": "source-url", "url": "https://x.org"})
    messages = [NewMessage(role="assistant", parts=[part])]
    text = '[source-url] {"type":"source-url","url":"https://x.org"}'
    for write in (formats.to_openai_chat, formats.to_openai_responses, formats.to_anthropic):
        assert write(messages) == [{"role": "assistant", "content": text}]
    assert formats.to_ai_sdk(messages)[0]["parts"] == [part.value]
    strange = OtherPart(value={"type": "hologram"})
    [shown] = formats.to_ai_sdk([NewMessage(role="assistant", parts=[strange])])
    assert shown["parts"] == [{"type": "data-other", "data": {"type": "hologram"}}]


def test_the_boundary_between_steps_is_not_said() -> None:
    parts = [{"type": "step-start"}, {"type": "text", "text": "hi"}]
    messages = formats.from_ai_sdk({"id": "m", "role": "assistant", "parts": parts})
    for write in (formats.to_openai_chat, formats.to_openai_responses, formats.to_anthropic):
        assert write(messages) == [{"role": "assistant", "content": "hi"}]


def test_a_role_that_a_format_does_not_have_becomes_one_that_it_has() -> None:
    for role, chat, claude, ui in (
        ("developer", "developer", "system", "system"),
        ("critic", "user", "user", "user"),
    ):
        messages = [NewMessage(role=role, parts=[TextPart(text="hi")])]
        assert formats.to_openai_chat(messages)[0]["role"] == chat
        assert formats.to_openai_responses(messages)[0]["role"] == chat
        assert formats.to_anthropic(messages)[0]["role"] == claude
        assert formats.to_ai_sdk(messages)[0]["role"] == ui

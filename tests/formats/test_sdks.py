"""The objects that the vendors' clients give can be handed in as they are."""

from __future__ import annotations

from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from sapwood import ReasoningPart, TextPart, ToolCallPart, formats

CHAT = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": None,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"a": 1}'},
                    }
                ],
            },
        }
    ],
}
CLAUDE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "hi", "citations": None},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ],
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
    ],
}


def test_a_chat_completion() -> None:
    message = ChatCompletion.model_validate(CHAT).choices[0].message
    [read] = formats.from_openai_chat(message)
    assert isinstance(read.parts[0], ToolCallPart)
    assert formats.to_openai_chat([read]) == [CHAT["choices"][0]["message"]]  # type: ignore[index]
    wrapped = {"role": "assistant", "tool_calls": message.tool_calls}
    assert formats.to_openai_chat(formats.from_openai_chat([wrapped]))[0]["tool_calls"][0]["id"]


def test_a_message_of_anthropic_and_its_content_alone() -> None:
    message = Message.model_validate(CLAUDE)
    [read] = formats.from_anthropic(message)
    assert [type(part) for part in read.parts] == [ReasoningPart, TextPart, ToolCallPart]
    assert read.id == "msg_1"
    assert formats.to_anthropic([read]) == [CLAUDE]
    turn = {"role": "assistant", "content": message.content}
    assert formats.to_anthropic(formats.from_anthropic([turn])) == [
        {"role": "assistant", "content": CLAUDE["content"]}
    ]


def test_the_output_of_a_response() -> None:
    read = formats.from_openai_responses(Response.model_validate(RESPONSE).output)
    assert [message.id for message in read] == ["rs_1", "msg_1", "fc_1"]
    assert formats.to_openai_responses(read) == RESPONSE["output"]

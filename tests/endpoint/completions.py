"""What OpenAI's protocol says, as its documentation has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .replies import Reply

USAGE = {
    "prompt_tokens": 1200,
    "completion_tokens": 80,
    "total_tokens": 1280,
    "prompt_tokens_details": {"cached_tokens": 1024},
    "completion_tokens_details": {"reasoning_tokens": 30},
}
OVERFLOW = {
    "error": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages "
        "resulted in 9001 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}


def completion(
    content: Any,
    *,
    id: Any = "chatcmpl-1",
    finish: str = "stop",
    usage: Any = USAGE,
    **message: Any,
) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, "refusal": None, **message}
    return {
        "id": id,
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "small-1",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": usage,
    }


def answer(content: Any, **fields: Any) -> Reply:
    return Reply(completion(content, **fields))


def chunk(delta: Any, *, id: str = "chatcmpl-1", finish: str | None = None) -> dict[str, Any]:
    return {
        "id": id,
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "small-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def chunks(*pieces: str, id: str = "chatcmpl-1", usage: Any = USAGE) -> Iterator[dict[str, Any]]:
    """Give an answer in pieces, and at its end the usage."""
    yield chunk({"role": "assistant", "content": ""}, id=id)
    for piece in pieces:
        yield chunk({"content": piece}, id=id)
    yield chunk({}, id=id, finish="stop")
    if usage is not None:
        yield {**chunk({}, id=id), "choices": [], "usage": usage}


def call_chunks(name: str, *arguments: str, id: str = "chatcmpl-1") -> Iterator[dict[str, Any]]:
    """Give a tool call, its arguments in pieces."""
    function = {"name": name, "arguments": ""}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    yield chunk({"role": "assistant", "content": None, "tool_calls": [call]}, id=id)
    for piece in arguments:
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}, id=id)
    yield chunk({}, id=id, finish="tool_calls")
    yield {**chunk({}, id=id), "choices": [], "usage": USAGE}

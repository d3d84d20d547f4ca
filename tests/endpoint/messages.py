"""What Anthropic's protocol says, as its documentation has it."""

from __future__ import annotations

from typing import Any

from .replies import Reply

USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 76,
    "cache_read_input_tokens": 1024,
    "output_tokens": 80,
    "output_tokens_details": {"thinking_tokens": 30},
}
OVERFLOW = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 209001 tokens > 200000 maximum",
    },
}


def message(
    content: Any, *, id: Any = "msg_1", stop: str = "end_turn", usage: Any = USAGE, **fields: Any
) -> dict[str, Any]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": "small-1",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **fields,
    }


def answer(content: Any, **fields: Any) -> Reply:
    return Reply(message(content, **fields))

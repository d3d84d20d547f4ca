"""What Anthropic's protocol says, as its documentation has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
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


def events(*pieces: str) -> Iterator[str]:
    """Give an answer in pieces, each event with its name."""
    begun = message([], stop_reason=None)
    yield _event("message_start", message=begun)
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for piece in pieces:
        delta = {"type": "text_delta", "text": piece}
        yield _event("content_block_delta", index=0, delta=delta)
    yield _event("content_block_stop", index=0)
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=ended, usage={"output_tokens": 2})
    yield _event("message_stop")


def _event(type: str, **fields: Any) -> str:
    # The server writes "data: " before it, and the name may come after the data.
    return f"{json.dumps({'type': type, **fields})}\nevent: {type}"

"""What the vendors' clients give: turns with a tool, as each of the four formats has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from messages import text

Json = dict[str, Any]

SAID_BYTES = 300


def conversation(turn: Callable[[int], list[Json]], turns: int) -> list[Json]:
    """Return a conversation of so many turns."""
    return [value for number in range(turns) for value in turn(number)]


def openai_chat(number: int) -> list[Json]:
    """Return a turn of chat completions, with the fields that the client sets to nothing."""
    id = f"call_{number:024}"
    function = {"name": "search", "arguments": _encoded(_input(number))}
    called = {"id": id, "type": "function", "function": function}
    said: Json = {"role": "assistant", "refusal": None, "annotations": []}
    return [
        {"role": "user", "content": _said(number)},
        {**said, "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": id, "content": _encoded(_found(number))},
        {**said, "content": _said(number + 1)},
    ]


def openai_responses(number: int) -> list[Json]:
    """Return a turn of responses, with reasoning that is encrypted."""
    id = f"call_{number:024}"
    call = {"call_id": id, "name": "search", "arguments": _encoded(_input(number))}
    said = {"type": "output_text", "text": _said(number + 1), "annotations": [], "logprobs": []}
    done: Json = {"status": "completed"}
    return [
        {"role": "user", "content": _said(number)},
        {
            "id": f"rs_{number:040}",
            "type": "reasoning",
            "summary": [],
            "encrypted_content": _said(number),
        },
        {"id": f"fc_{number:040}", "type": "function_call", **call, **done},
        {"type": "function_call_output", "call_id": id, "output": _encoded(_found(number))},
        {
            "id": f"msg_{number:040}",
            "type": "message",
            "role": "assistant",
            "content": [said],
            **done,
        },
    ]


def anthropic(number: int) -> list[Json]:
    """Return a turn of Anthropic, with signed thinking."""
    id = f"toolu_{number:024}"
    thought = {"type": "thinking", "thinking": _said(number + 2), "signature": text(200, number)}
    call = {"type": "tool_use", "id": id, "name": "search", "input": _input(number)}
    result = {"type": "tool_result", "tool_use_id": id, "content": _encoded(_found(number))}
    return [
        {"role": "user", "content": _said(number)},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Let me see."}, call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": _said(number + 1)}]},
    ]


def ai_sdk(number: int) -> list[Json]:
    """Return a turn of UI messages, with the tool's call and its result in one part."""
    tool = {
        "type": "tool-search",
        "toolCallId": f"call_{number:024}",
        "state": "output-available",
        "input": _input(number),
        "output": _found(number),
    }
    step: Json = {"type": "step-start"}
    answer = {"type": "text", "text": _said(number + 1), "state": "done"}
    return [
        {"id": f"u{number}", "role": "user", "parts": [{"type": "text", "text": _said(number)}]},
        {"id": f"a{number}", "role": "assistant", "parts": [step, tool, step, answer]},
    ]


def _said(number: int) -> str:
    return text(SAID_BYTES, number)


def _input(number: int) -> Json:
    return {"query": text(30, number), "limit": 5 + number % 7}


def _found(number: int) -> Json:
    rows = [
        {"id": number * 10 + row, "title": text(60, number * 10 + row), "score": row / 4}
        for row in range(8)
    ]
    return {"status": "ok", "rows": rows}


def _encoded(value: Json) -> str:
    return msgspec.json.encode(value).decode()

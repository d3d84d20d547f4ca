"""What OpenAI's protocol of responses says, as its documentation has it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

USAGE = {
    "input_tokens": 1200,
    "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 0},
    "output_tokens": 80,
    "output_tokens_details": {"reasoning_tokens": 30},
    "total_tokens": 1280,
}


def response(
    output: list[dict[str, Any]], *, status: str = "completed", id: str = "resp_1", **fields: Any
) -> dict[str, Any]:
    return {
        "id": id,
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "small-1",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        **fields,
    }


def events(
    output: list[dict[str, Any]], *, end: str = "completed", usage: Any = USAGE, **fields: Any
) -> list[dict[str, Any]]:
    """Give a response item by item, each in pieces of a few characters."""
    begun = response([], status="in_progress", usage=None)
    told: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    told.append({"type": "response.in_progress", "response": begun})
    for index, item in enumerate(output):
        empty = {**item, **{name: [] for name in ("content", "summary") if name in item}}
        empty |= {name: "" for name in ("arguments", "input", "encrypted_content") if name in item}
        told.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        place = {"item_id": item.get("id"), "output_index": index}
        told += [{**place, **event} for event in _within(item)]
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    whole = response(output, status=end, usage=usage, **fields)
    told.append({"type": f"response.{end}", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def _within(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match item:
        case {"type": "message", "content": content}:
            for number, part in enumerate(content):
                yield from _within_content(part, {"content_index": number})
        case {"type": "reasoning", "summary": summary}:
            for number, part in enumerate(summary):
                at = {"summary_index": number}
                empty = {**part, "text": ""}
                yield {"type": "response.reasoning_summary_part.added", "part": empty, **at}
                for piece in pieces(part["text"]):
                    yield {"type": "response.reasoning_summary_text.delta", "delta": piece, **at}
        case {"type": "function_call" | "mcp_call" as kind, "arguments": arguments}:
            for piece in pieces(arguments):
                yield {"type": f"response.{kind}_arguments.delta", "delta": piece}
        case {"type": "custom_tool_call", "input": asked}:
            for piece in pieces(asked):
                yield {"type": "response.custom_tool_call_input.delta", "delta": piece}


def _within_content(part: dict[str, Any], at: dict[str, int]) -> Iterator[dict[str, Any]]:
    field = "refusal" if part["type"] == "refusal" else "text"
    yield {"type": "response.content_part.added", "part": {**part, field: ""}, **at}
    for piece in pieces(part[field]):
        yield {"type": f"response.{part['type']}.delta", "delta": piece, "logprobs": [], **at}
    yield {"type": "response.content_part.done", "part": part, **at}


def pieces(text: str, size: int = 5) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def on_the_wire(told: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Give each event with its name, which both vendors' streams of events have."""
    for event in told:
        # The server writes "data: " before it, and the name may come after the data.
        yield f"{json.dumps(event)}\nevent: {event['type']}"

"""What a vendor's server sends for an answer, and what it says when it cannot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from endpoint import Reply, Stream, completions, messages, responses
from streaming import answers

VENDORS = ("openai_chat", "openai_responses", "anthropic")
Json = dict[str, Any]


def said(vendor: str, text: str = "", *, id: str = "a-1", calls: Any = (), **more: Any) -> Stream:
    """Stream a text, and calls of tools given as (id, name, input)."""
    items = {"openai_chat": _chat, "openai_responses": _responses, "anthropic": _anthropic}
    told = items[vendor](text, id, calls)
    return Stream(told if vendor == "openai_chat" else list(responses.on_the_wire(told)), **more)


def begun(vendor: str, text: str, **more: Any) -> Stream:
    """Stream the beginning of a text, without an end."""
    whole = list(said(vendor, text).events)
    kept = 2 if vendor == "openai_chat" else len(whole) - 4
    return Stream(whole[:kept], **more)


def overflow(vendor: str) -> Reply:
    return Reply(messages.OVERFLOW if vendor == "anthropic" else completions.OVERFLOW, 400)


def overloaded(vendor: str) -> Reply:
    kind, status = ("overloaded_error", 529) if vendor == "anthropic" else ("server_error", 503)
    body = {"type": "error", "error": {"type": kind, "message": "Overloaded", "code": None}}
    return Reply(body, status, {"retry-after": "0"})


def _chat(text: str, id: str, calls: Any) -> list[Json]:
    told = [completions.chunk({"role": "assistant", "content": ""}, id=id)]
    told += [completions.chunk({"content": it}, id=id) for it in responses.pieces(text)]
    for index, (call, name, asked) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(asked)}
        piece = {"index": index, "id": call, "type": "function", "function": function}
        told.append(completions.chunk({"tool_calls": [piece]}, id=id))
    told.append(completions.chunk({}, id=id, finish="tool_calls" if calls else "stop"))
    return [*told, {**completions.chunk({}, id=id), "choices": [], "usage": completions.USAGE}]


def _responses(text: str, id: str, calls: Any) -> list[Json]:
    output = [answers.said(text)] if text else []
    for call, name, asked in calls:
        item = {"type": "function_call", "id": f"fc_{call}", "call_id": call, "name": name}
        output.append({**item, "arguments": json.dumps(asked), "status": "completed"})
    return responses.events(output, id=id)


def _anthropic(text: str, id: str, calls: Any) -> list[Json]:
    content = [{"type": "text", "text": text}] if text else []
    for call, name, asked in calls:
        content.append({"type": "tool_use", "id": call, "name": name, "input": asked})
    told = answers.claude(content, "tool_use" if calls else "end_turn")
    told[0] = {**told[0], "message": {**told[0]["message"], "id": id}}
    return told


def results_in(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the results of tools that a request holds, by the call's id."""
    found: dict[str, str] = {}
    for item in body.get("messages", body.get("input")):
        if item.get("role") == "tool":
            found[item["tool_call_id"]] = item["content"]
        if item.get("type") == "function_call_output":
            found[item["call_id"]] = item["output"]
        content = item.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "tool_result":
                found[part["tool_use_id"]] = text_of(part["content"])
    return found


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)

"""The vendors' rules about a conversation as a whole, checked without anything of sapwood."""

from __future__ import annotations

import re
from typing import Any

from .values import Json

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ID = re.compile(r"[a-zA-Z0-9_-]+")


def check_chat(messages: list[Json]) -> None:
    """One `tool` message for each call, right after the message with the calls."""
    waiting: list[str] = []
    for message in messages:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in waiting, "a result without its call before it"
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == [], f"{role} comes before the results of {waiting}"
        if role == "assistant":
            calls = message.get("tool_calls", [])
            assert message.get("content") or calls, "an assistant who says nothing"
            waiting = [call["id"] for call in calls]
            assert all(NAME.fullmatch(call["function"]["name"]) for call in calls)
            assert all(0 < len(id) <= 40 for id in waiting)
            assert len(set(waiting)) == len(waiting)
    assert waiting == []


def check_items(items: list[Json]) -> None:
    """Every call has its output after it, and every output its call before it."""
    waiting: list[str] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            assert NAME.fullmatch(item["name"])
            assert 0 < len(item["call_id"]) <= 64
            waiting.append(item["call_id"])
        elif kind == "function_call_output":
            assert item["call_id"] in waiting
            waiting.remove(item["call_id"])
        elif kind == "message":
            assert item["content"]
    assert waiting == []


def check_anthropic(messages: list[Json]) -> None:
    """User and assistant in turn, the results first in the message after their calls."""
    waiting: set[str] = set()
    seen: set[str] = set()
    for number, message in enumerate(messages):
        assert message["role"] == ("user", "assistant")[number % 2]
        assert message["content"] != []
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "user":
            results = [it for it in message["content"] if it["type"] == "tool_result"]
            assert kinds[: len(results)] == ["tool_result"] * len(results)
            assert sorted(it["tool_use_id"] for it in results) == sorted(waiting)
            waiting = set()
        else:
            assert {"tool_result", "image", "document"}.isdisjoint(kinds)
            waiting = {it["id"] for it in message["content"] if it["type"] == "tool_use"}
            assert len(waiting) == kinds.count("tool_use")
            assert seen.isdisjoint(waiting)
            seen |= waiting
        for block in message["content"]:
            check_block(block)
    assert waiting == set()
    if messages and messages[-1]["role"] == "assistant" and kinds[-1] == "text":
        text = messages[-1]["content"][-1]["text"]
        assert text == text.rstrip(), "the text to go on from ends with white space"


def check_block(block: Json) -> None:
    if block["type"] == "text":
        assert block["text"].strip()
    elif block["type"] == "tool_use":
        assert NAME.fullmatch(block["name"])
        assert ID.fullmatch(block["id"])
    elif block["type"] == "tool_result" and isinstance(block.get("content"), list):
        assert block["content"] != []
        for inner in block["content"]:
            check_block(inner)


def check_ui(messages: list[Json]) -> None:
    """Each part has the fields of its type, and a tool's those of its state."""
    for message in messages:
        assert message.keys() <= {"id", "role", "parts", "metadata"}
        assert message["role"] in ("system", "user", "assistant")
        for part in message["parts"]:
            check_part(part)


def check_part(part: Json) -> None:
    kind = part["type"]
    if kind in ("text", "reasoning"):
        assert part.keys() == {"type", "text"}
    elif kind == "file":
        assert part.keys() - {"filename"} == {"type", "mediaType", "url"}
        assert part["url"]
    elif kind.startswith("data-"):
        assert part.keys() == {"type", "data"}
    else:
        check_tool(part)


def check_tool(part: Json) -> None:
    answers: dict[str, Any] = {
        "input-available": set(),
        "output-available": {"output"},
        "output-error": {"errorText"},
    }
    fields = {"type", "toolCallId", "state", "input", *answers[part["state"]]}
    is_dynamic = part["type"] == "dynamic-tool"
    assert part.keys() == (fields | {"toolName"} if is_dynamic else fields)
    assert is_dynamic or part["type"].startswith("tool-")

"""The limits of the vendors' APIs, which a message that was kept as it came may not know of."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from .unmapped_fields import Json

_NOT_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def fit_name(name: str, limit: int = 64) -> str:
    """Return a tool's name or a call's id as every vendor takes it; the same for the same."""
    fitting = _NOT_NAME.sub("_", name)
    return name if fitting == name and 0 < len(name) <= limit else _marked(fitting, name, limit)


def fit_length(id: str, limit: int) -> str:
    """Return an id that is not too long; the same for the same."""
    return id if 0 < len(id) <= limit else _marked(id, id, limit)


def _marked(fitting: str, whole: str, limit: int) -> str:
    """End a shortened name with a mark of the whole one, so that two stay two."""
    mark = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{fitting[: limit - 9]}_{mark}"


def fit_chat(messages: list[Json]) -> list[Json]:
    """Keep the limits of OpenAI's chat completions."""
    return [_fit_chat(message) for message in messages if not _is_empty(message)]


def _is_empty(message: Json) -> bool:
    """Whether a message says nothing; a tool's answer may."""
    if message.get("role") in ("tool", "function") or message.get("content"):
        return False
    said = ("tool_calls", "function_call", "refusal", "audio")
    return not any(message.get(field) for field in said)


def _fit_chat(message: Json) -> Json:
    if isinstance(message.get("tool_call_id"), str):
        message = {**message, "tool_call_id": fit_length(message["tool_call_id"], 40)}
    if isinstance(message.get("name"), str) and message.get("role") != "function":
        message = {**message, "name": fit_name(message["name"])}
    if not message.get("tool_calls"):
        return message
    return {**message, "tool_calls": [_fit_chat_call(call) for call in message["tool_calls"]]}


def _fit_chat_call(call: Json) -> Json:
    kind = call.get("type", "function")
    asked = call.get(kind)
    if isinstance(asked, dict) and isinstance(asked.get("name"), str):
        call = {**call, kind: {**asked, "name": fit_name(asked["name"])}}
    return {**call, "id": fit_length(call["id"], 40)}


def fit_items(items: list[Json]) -> list[Json]:
    """Keep the limits of OpenAI's responses."""
    return [_fit_item(item) for item in items if "role" not in item or item.get("content")]


def _fit_item(item: Json) -> Json:
    if isinstance(item.get("call_id"), str):
        item = {**item, "call_id": fit_length(item["call_id"], 64)}
    if item.get("type") in ("function_call", "custom_tool_call"):
        item = {**item, "name": fit_name(item["name"])}
    return item


def fit_anthropic(messages: list[Json]) -> list[Json]:
    """Keep the rules of Anthropic's messages: user and assistant in turn, the user first."""
    fitting: list[Json] = []
    ids = _Ids()
    for message in messages:
        role, blocks = _fit_blocks(message, ids)
        if not blocks:
            continue
        if fitting and fitting[-1]["role"] == role:
            fitting[-1]["content"] += blocks
        else:
            fitting.append({"role": role, "content": blocks})
    if fitting and fitting[0]["role"] != "user":
        fitting.insert(0, {"role": "user", "content": [{"type": "text", "text": BEGINNING}]})
    if fitting and fitting[-1]["role"] == "assistant":
        fitting[-1]["content"][-1] = _without_space_after(fitting[-1]["content"][-1])
    for message in fitting:
        message["content"].sort(key=lambda block: block.get("type") != "tool_result")
    return fitting


BEGINNING = "[the conversation begins with the assistant]"


class _Ids:
    """The ids of calls, each used once: some models begin anew in every turn."""

    def __init__(self) -> None:
        self._latest: dict[str, str] = {}
        self._used: set[str] = set()

    def of_call(self, id: str) -> str:
        fitting = once = fit_name(id, 200)
        number = 1
        while once in self._used:
            number += 1
            once = f"{fitting}_{number}"
        self._used.add(once)
        self._latest[id] = once
        return once

    def of_result(self, id: str) -> str:
        return self._latest.get(id) or fit_name(id, 200)


def _fit_blocks(message: Json, ids: _Ids) -> tuple[str, list[Json]]:
    content: Any = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [_fit_block(block, ids) for block in blocks if not _is_blank(block)]
    if message["role"] == "assistant":
        return "assistant", blocks
    return "user", blocks if message["role"] != "system" else [_as_system(it) for it in blocks]


def _as_system(block: Json) -> Json:
    if block.get("type") != "text":
        return block
    return {**block, "text": f"<system>\n{block['text']}\n</system>"}


def _is_blank(block: Json) -> bool:
    return block.get("type") == "text" and not str(block.get("text", "")).strip()


def _without_space_after(block: Json) -> Json:
    """Strip the text that the model goes on from, which may not end with white space."""
    return {**block, "text": block["text"].rstrip()} if block.get("type") == "text" else block


def _fit_block(block: Json, ids: _Ids) -> Json:
    if block.get("type") == "tool_use":
        return {**block, "id": ids.of_call(block["id"]), "name": fit_name(block["name"])}
    if block.get("type") == "tool_result":
        return {**block, "tool_use_id": ids.of_result(block["tool_use_id"])}
    return block

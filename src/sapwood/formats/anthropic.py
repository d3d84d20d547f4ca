"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model import (
    FilePart,
    NewMessage,
    OtherPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from . import files
from .client_values import mapping_at, objects_at, text_at, values_of
from .message_content import ContentFormat
from .message_like import MessageLike, checked_messages
from .role_blocks import BlockRules, blocks_of
from .tool_outputs import anthropic_file, as_object, pieces_of
from .unmapped_fields import (
    Json,
    Reasoning,
    besides,
    check_reasoning,
    kind_of,
    part_rest,
    with_rest,
)
from .vendor_limits import fit_anthropic

NAME = "anthropic"

_KINDS: dict[type, str] = {
    TextPart: "text",
    ToolCallPart: "tool_use",
    ToolResultPart: "tool_result",
}
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_SERVER_CALLS = ("server_tool_use", "mcp_tool_use")


def from_anthropic(value: Any) -> list[NewMessage]:
    """Read a message, or a list of them; `UsageError` says where one is wrong."""
    return [
        CONTENT.read(message, text_at(message, "role", path), path)
        for message, path in values_of(value, "message", "messages")
    ]


def to_anthropic(
    messages: Iterable[MessageLike], *, wire: bool = False, reasoning: Reasoning = "text"
) -> list[Json]:
    """Write messages; those that came from this format are written as they came.

    Tool results stand in the user's message after the one with their calls. `wire` also keeps the
    rules of the API: user and assistant in turn, results first, role and content only, no system
    messages, no blank text. `reasoning` says what becomes of reasoning of other vendors.
    """
    check_reasoning(reasoning)
    written: list[Json] = []
    is_results = False
    for role, parts, rest, _ in blocks_of(checked_messages(messages), BLOCK_RULES):
        if role == "tool" and is_results:
            written[-1]["content"] += CONTENT.write_elements(parts, "user", reasoning)
            continue
        message = CONTENT.write(role, parts, rest, reasoning)
        if message is not None:
            written.append(message)
        is_results = role == "tool"
    return fit_anthropic(written) if wire else written


def stays_with_call(part: Part) -> bool:
    """Whether a result is that of a tool at the vendor: the assistant's message holds it."""
    return isinstance(part, ToolResultPart) and kind_of(part, NAME) is not None


def _served_ids(blocks: list[Json]) -> list[str]:
    """Return the ids of calls of tools at the vendor that have their result in the same message.

    The others are going on, or went on in another message: they are carried as they are.
    """
    called: set[str] = set()
    # A list, since an id that is looked for in it may be of any type.
    served: list[str] = []
    if not any(block.get("type") in _SERVER_CALLS for block in blocks):
        return served
    for block in blocks:
        match block:
            case {"type": "server_tool_use" | "mcp_tool_use", "id": str(id)}:
                called.add(id)
            case {"type": str(kind), "tool_use_id": str(id)} if _is_served(kind) and id in called:
                served.append(id)
    return served


def _is_served(kind: str) -> bool:
    return kind.endswith("_tool_result")


def _read_blocks(message: Json, role: str, path: str) -> list[Part]:
    found = list(objects_at(message, "content", path))
    served = _served_ids(message["content"])
    return [_read_block(block, role, served, where) for block, where in found]


def _read_block(block: Json, role: str, served: list[str], path: str) -> Part:
    kind = text_at(block, "type", path)
    match kind:
        case "text":
            part = TextPart(text=text_at(block, kind, path))
            return with_rest(part, NAME, besides(block, ("type", kind)))
        case "thinking":
            thought = ReasoningPart(text=text_at(block, kind, path))
            return with_rest(thought, NAME, {"type": kind, **besides(block, ("type", kind))})
        case "redacted_thinking":
            return CONTENT.kept(ReasoningPart(text=""), role, kind, block)
        case "image" | "document":
            file = anthropic_file(kind, mapping_at(block, "source", path))
            if file is None:
                return OtherPart(value=block)
            return CONTENT.kept(files.named(file, block.get("title")), role, kind, block)
        case "tool_use":
            return _read_call(kind, block, role, path)
        case "tool_result":
            return _read_result(kind, block, role, path)
        case "server_tool_use" | "mcp_tool_use" if block.get("id") in served:
            return _read_call(kind, block, role, path)
        case _ if _is_served(kind) and block.get("tool_use_id") in served:
            return _read_result(kind, block, role, path)
        case _:
            return OtherPart(value=block)


def _read_call(kind: str, block: Json, role: str, path: str) -> Part:
    id, name = text_at(block, "id", path), text_at(block, "name", path)
    part = ToolCallPart(call_id=id, name=name, input=mapping_at(block, "input", path))
    is_all = kind == "tool_use" and len(block) == 4
    return part if is_all else CONTENT.kept(part, role, kind, block)


def _read_result(kind: str, block: Json, role: str, path: str) -> Part:
    content = block.get("content")
    is_failure = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
    part = ToolResultPart(
        call_id=text_at(block, "tool_use_id", path),
        output=content,
        is_error=block.get("is_error") is True or is_failure,
    )
    if isinstance(content, str) and kind == "tool_result" and len(block) == 3:
        return part
    if isinstance(content, (list, dict)):
        part = with_rest(part, NAME, {"verbatim": True})
    return CONTENT.kept(part, role, kind, block)


def _default_kind(part: Part, role: str) -> str | None:
    if isinstance(part, FilePart):
        return _file_kind(part) if role == "user" else None
    return _KINDS.get(type(part))


def _file_kind(part: FilePart) -> str | None:
    is_there = files.is_on_the_web(part) or files.id_at("anthropic", part) is not None
    if files.is_image(part):
        return "image" if is_there or files.is_inline_image(part) else None
    if part.media_type == files.PDF:
        return "document" if is_there or files.is_inline(part) else None
    has_text = files.text_of(part) is not None
    return "document" if has_text or files.id_at("anthropic", part) is not None else None


def _write(part: Part, kind: str) -> Json:
    if isinstance(part, (TextPart, ReasoningPart)):
        return {"type": kind} if kind == "redacted_thinking" else {"type": kind, kind: part.text}
    if isinstance(part, ToolCallPart):
        asked = as_object(part.input)
        return {"type": kind, "id": part.call_id, "name": part.name, "input": asked}
    if isinstance(part, ToolResultPart):
        return _write_result(part, kind)
    if not isinstance(part, FilePart):
        return {}
    title = {} if kind == "image" else files.name_as("title", part)
    return {"type": kind, "source": _write_source(part), **title}


def _write_source(part: FilePart) -> Json:
    id, data, text = files.id_at("anthropic", part), files.encoded(part), files.text_of(part)
    if id is not None:
        return {"type": "file", "file_id": id}
    if text is not None:
        return {"type": "text", "media_type": "text/plain", "data": text}
    if data is not None:
        return {"type": "base64", "media_type": part.media_type, "data": data}
    return {"type": "url", "url": part.uri or ""}


def _write_result(part: ToolResultPart, kind: str) -> Json:
    block: Json = {"type": kind, "tool_use_id": part.call_id}
    if "verbatim" in part_rest(part, NAME) or isinstance(part.output, str):
        block["content"] = part.output
    elif pieces := pieces_of(part.output):
        block["content"] = CONTENT.write_elements([*pieces], "user", "text")
    is_ours = kind in ("tool_result", "mcp_tool_result")
    return {**block, "is_error": True} if part.is_error and is_ours else block


CONTENT = ContentFormat(NAME, _ROLES, _read_blocks, _default_kind, _write)


BLOCK_RULES = BlockRules(NAME, users_hold_results=True, stays=stays_with_call)

"""Items of OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
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
from .client_values import id_of, text_at, values_of, wrong
from .message_like import MessageLike, checked_messages
from .openai_responses_parts import CONTENT, NAME
from .tool_outputs import call_of, pieces_of, text_of_output, written_arguments
from .unmapped_fields import (
    Json,
    Reasoning,
    as_text,
    besides,
    check_reasoning,
    has_other,
    keep,
    kind_of,
    only_text,
    part_rest,
    rest_of,
    restore,
    with_natives,
    with_rest,
)
from .vendor_limits import fit_items

BETWEEN = "\n\n"
_INPUTS = ("action", "operation", "actions", "arguments")
# Their id is that of something else.
_REFERRING = ("item_reference", "local_shell_call_output")
_FROM_USER = ("item_reference", "mcp_approval_response", "compaction_trigger")


def from_openai_responses(value: Any) -> list[NewMessage]:
    """Read an item, or a list of them: each becomes a message, with the item's id if it has one.

    `UsageError` says where one is wrong.
    """
    return [_read(item, path) for item, path in values_of(value, "item", "items")]


def to_openai_responses(
    messages: Iterable[MessageLike], *, wire: bool = False, reasoning: Reasoning = "text"
) -> list[Json]:
    """Write items; those that came from this format are written as they came.

    Each call and each result is an item of its own. `wire` also keeps the limits of the API: the
    length of ids, no empty messages. `reasoning` says what becomes of reasoning of other vendors.
    """
    check_reasoning(reasoning)
    calls: dict[str, str | None] = {}
    written = [item for it in checked_messages(messages) for item in _write(it, calls, reasoning)]
    return fit_items(written) if wire else written


def _kind(item: Json, path: str) -> str:
    if item.get("type") is not None:
        return text_at(item, "type", path)
    if "role" in item:
        return "message"
    if "id" in item:
        return "item_reference"
    raise wrong(None, f"{path}.type", "a string")


def _read(item: Json, path: str) -> NewMessage:
    kind = _kind(item, path)
    if kind == "message":
        role = text_at(item, "role", path)
        return CONTENT.read(item, role, path, always_list=role == "assistant")
    parts = read_item(item, kind, path)
    metadata: Json = {}
    if has_other(parts):
        parts, metadata = [OtherPart(value=item)], {NAME: {"item": True}}
    id = None if kind in _REFERRING else id_of(item)
    return NewMessage(role=_role(item, kind), parts=parts, metadata=metadata, id=id)


def _role(item: Json, kind: str) -> str:
    role = item.get("role")
    if isinstance(role, str) and role in CONTENT.roles:
        return role
    if kind.endswith("_output"):
        return "tool"
    return "user" if kind in _FROM_USER else "assistant"


def _write(
    message: MessageLike, calls: dict[str, str | None], reasoning: Reasoning
) -> Iterator[Json]:
    rest = rest_of(message.metadata, NAME)
    if isinstance(rest.get("items"), list):
        if sum(count for count, _ in rest["items"]) == len(message.parts):
            for piece in _pieces(message, rest["items"]):
                yield from _write(piece, calls, reasoning)
            return
        rest = {}
    if "item" in rest and [type(part) for part in message.parts] == [OtherPart]:
        yield message.parts[0].to_json()
        return
    text = only_text(message.parts, rest)
    if text is not None:
        yield {"role": CONTENT.role_of(message.role), "content": text}
        return
    told: list[Part] = []
    for part, item in _items(message.parts, calls):
        if item is None:
            told.append(part)
            continue
        if told:
            yield from _messages(message.role, told, {}, reasoning)
            told = []
        yield item
    if told or (rest and not message.parts):
        whole = rest if len(told) == len(message.parts) else {}
        yield from _messages(message.role, told, whole, reasoning)


def as_one(messages: Iterable[NewMessage]) -> NewMessage:
    """Make one message of the assistant of several, which is written as these would be."""
    parts: list[Part] = []
    items: list[tuple[int, Json]] = []
    for message in messages:
        parts += message.parts
        items.append((len(message.parts), rest_of(message.metadata, NAME)))
    metadata = {NAME: {"items": [list(it) for it in items]}} if any(it[1] for it in items) else {}
    return NewMessage(role="assistant", parts=parts, metadata=metadata)


def _pieces(message: MessageLike, items: list[tuple[int, Json]]) -> Iterator[NewMessage]:
    """Yield the messages that one was made of."""
    start = 0
    for count, rest in items:
        parts = message.parts[start : start + count]
        yield NewMessage(role=message.role, parts=parts, metadata={NAME: rest} if rest else {})
        start += count


def _items(parts: list[Part], calls: dict[str, str | None]) -> Iterator[tuple[Part, Json | None]]:
    """Yield each part with the item that it is by itself, if it is one."""
    served: Part | None = None
    for part, after in zip_longest(parts, parts[1:]):
        if part is served:
            continue
        if isinstance(part, ToolCallPart):
            calls[part.call_id] = kind_of(part, NAME)
            if calls[part.call_id] == "mcp_call" and isinstance(after, ToolResultPart):
                served = after
                yield part, write_served(part, after)
                continue
        call_kind = calls.get(part.call_id) if isinstance(part, ToolResultPart) else None
        yield part, write_item(part, call_kind)


def _messages(role: str, parts: list[Part], rest: Json, reasoning: Reasoning) -> Iterator[Json]:
    """Write what is said; what the assistant said elsewhere, one message for each part."""
    is_one = role != "assistant" or "list" in rest or len(parts) < 2
    if "other" in rest:
        parts = with_natives(parts)
    for group in [parts] if is_one else [[part] for part in parts]:
        message = CONTENT.write(role, group, rest, reasoning)
        if message is not None:
            yield message


def read_item(item: Json, kind: str, path: str) -> list[Part]:
    """Read an item; what has no part of ours is carried as it is."""
    match kind:
        case "reasoning":
            return [_read_reasoning(item, path)]
        case "function_call" | "custom_tool_call":
            return [_read_call(item, kind, path)]
        case "mcp_call" if item.get("error") is not None or isinstance(item.get("output"), str):
            return _read_served(item, path)
        case "image_generation_call" if isinstance(item.get("result"), str):
            return [_read_image(item)]
        case _ if kind.endswith("_call") and isinstance(item.get("call_id"), str):
            return [_read_other_call(item, kind)]
        case _ if _is_output(kind) and isinstance(item.get(_id_field(kind)), str):
            return [_read_output(item, kind)]
        case _:
            return [OtherPart(value=item)]


def write_item(part: Part, call_kind: str | None = None) -> Json | None:
    """Write a part as an item of its own; None when it belongs into a message."""
    rest = part_rest(part, NAME)
    match part:
        case ReasoningPart() if rest.get("type") == "reasoning":
            return restore(_write_reasoning(part), rest)
        case ToolCallPart():
            return restore(_write_call(part), rest)
        case ToolResultPart():
            return restore(_write_output(part, call_kind), rest)
        case FilePart() if rest.get("type") == "image_generation_call":
            return restore(_write_image(part), rest)
        case _:
            return None


# Reasoning: one text of all summaries and contents, and where it is to be cut again.


def _read_reasoning(item: Json, path: str) -> ReasoningPart:
    if item.get("summary") == [] and "content" not in item:
        secret = {"type": "reasoning", "cuts": {}, **besides(item, ("type", "summary"))}
        return with_rest(ReasoningPart(text=""), NAME, secret)
    summary, content = _texts(item.get("summary")), _texts(item.get("content"))
    part = ReasoningPart(text=BETWEEN.join(summary + content))
    rest: Json = {"type": "reasoning"}
    if len(summary) != 1 or content:
        cuts = {"summary": summary, "content": content}
        rest["cuts"] = {name: [len(text) for text in it] for name, it in cuts.items() if it}
    return keep(part, NAME, item, _reasoned(summary, content), rest)


def _texts(value: Any) -> list[str]:
    if not value or not isinstance(value, list):
        return []
    texts = [item.get("text") for item in value if isinstance(item, dict)]
    return [text for text in texts if isinstance(text, str)]


def _write_reasoning(part: ReasoningPart) -> Json:
    cuts = part_rest(part, NAME).get("cuts", {"summary": [len(part.text)]})
    summary, content = cuts.get("summary", []), cuts.get("content", [])
    lengths = [*summary, *content]
    if sum(lengths) + len(BETWEEN) * max(len(lengths) - 1, 0) != len(part.text):
        summary, lengths = [len(part.text)], [len(part.text)]
    texts, start = [], 0
    for length in lengths:
        texts.append(part.text[start : start + length])
        start += length + len(BETWEEN)
    return _reasoned(texts[: len(summary)], texts[len(summary) :])


def _reasoned(summary: list[str], content: list[str]) -> Json:
    item: Json = {"type": "reasoning", "summary": _told(summary, "summary_text")}
    return {**item, "content": _told(content, "reasoning_text")} if content else item


def _told(texts: list[str], kind: str) -> list[Json]:
    return [{"type": kind, "text": text} for text in texts]


# Calls.


def _read_call(item: Json, kind: str, path: str) -> ToolCallPart:
    id, name = text_at(item, "call_id", path), text_at(item, "name", path)
    field = "arguments" if kind == "function_call" else "input"
    raw = text_at(item, field, path)
    rest = besides(item, ("type", "call_id", "name", field))
    if kind == "function_call":
        return with_rest(call_of(id, name, raw, NAME), NAME, rest)
    part = ToolCallPart(call_id=id, name=name, input=raw)
    return with_rest(part, NAME, {"type": kind, **rest})


def _read_other_call(item: Json, kind: str) -> ToolCallPart:
    field = next((name for name in _INPUTS if name in item), None)
    input = {} if field is None else item[field]
    part = ToolCallPart(call_id=item["call_id"], name=kind.removesuffix("_call"), input=input)
    part = with_rest(
        part, NAME, {"type": kind} if field is None else {"type": kind, "field": field}
    )
    return keep(part, NAME, item, _write_call(part))


def _write_call(part: ToolCallPart) -> Json:
    kind = kind_of(part, NAME)
    if kind is None or kind == "mcp_call":  # without its result, it is a call like any other
        made = {"type": "function_call", "call_id": part.call_id, "name": part.name}
        return {**made, "arguments": written_arguments(part, NAME)}
    made = {"type": kind, "call_id": part.call_id}
    if kind == "custom_tool_call":
        return {**made, "name": part.name, "input": as_text(part.input)}
    field = part_rest(part, NAME).get("field")
    return {**made, field: part.input} if isinstance(field, str) else made


# What calls gave.


def _is_output(kind: str) -> bool:
    return kind.endswith("_call_output") or kind == "tool_search_output"


def _id_field(kind: str) -> str:
    """Return the field of the call's id; a local shell's output has it for its own."""
    return "id" if kind == "local_shell_call_output" else "call_id"


def _read_output(item: Json, kind: str) -> ToolResultPart:
    part = ToolResultPart(call_id=item[_id_field(kind)], output=item.get("output"))
    # Kept also where it is the usual one: without it, it would be that of the call's type.
    rest: Json = {"type": kind}
    if not isinstance(part.output, str):
        rest["verbatim"] = True
    if "output" in item:
        rest |= besides(item, ("type", _id_field(kind), "output"))
        return with_rest(part, NAME, rest)
    made = {"type": kind, _id_field(kind): part.call_id, "output": part.output}
    return keep(part, NAME, item, made, rest)


def _write_output(part: ToolResultPart, call_kind: str | None) -> Json:
    rest = part_rest(part, NAME)
    kind = rest.get("type") or f"{call_kind or 'function_call'}_output"
    output = part.output if "verbatim" in rest else _output(part)
    return {"type": kind, _id_field(kind): part.call_id, "output": output}


def _output(part: ToolResultPart) -> Any:
    """Return an output as a string, or as a list when there are files in it."""
    pieces = [] if isinstance(part.output, str) else pieces_of(part.output)
    if not any(isinstance(it, FilePart) for it in pieces):
        return text_of_output(part.output, part.is_error)
    failed = [TextPart(text="Error:")] if part.is_error else []
    return CONTENT.write_elements([*failed, *pieces], "user", "text")


# Tools that ran at the vendor: the call and its result are one item.


def _read_served(item: Json, path: str) -> list[Part]:
    id, name = text_at(item, "id", path), text_at(item, "name", path)
    raw = text_at(item, "arguments", path)
    call = with_rest(call_of(id, name, raw, NAME), NAME, {"type": "mcp_call"})
    is_error = item.get("error") is not None
    result = ToolResultPart(
        call_id=id, output=item["error"] if is_error else item["output"], is_error=is_error
    )
    return [keep(call, NAME, item, _write_served(call, result)), result]


def write_served(call: ToolCallPart, result: ToolResultPart) -> Json:
    """Write the call of a tool at the vendor, with its result, as one item."""
    return restore(_write_served(call, result), part_rest(call, NAME))


def _write_served(call: ToolCallPart, result: ToolResultPart) -> Json:
    answer = {"error" if result.is_error else "output": result.output}
    made = {"type": "mcp_call", "id": call.call_id, "name": call.name}
    return {**made, "arguments": written_arguments(call, NAME), **answer}


def _read_image(item: Json) -> FilePart:
    format = item.get("output_format")
    media_type = f"image/{format}" if isinstance(format, str) else "image/png"
    part = with_rest(files.inline(media_type, item["result"]), NAME, {"type": item["type"]})
    return keep(part, NAME, item, _write_image(part))


def _write_image(part: FilePart) -> Json:
    return {"type": "image_generation_call", "result": files.encoded(part)}

"""The items of OpenAI responses that are not messages: reasoning, calls and what they gave."""

from __future__ import annotations

from typing import Any

from ..model import FilePart, OtherPart, Part, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from . import files
from .call_arguments import call_of, written
from .client_values import text_at
from .openai_responses_parts import CONTENT, NAME
from .part_text import as_text
from .tool_outputs import pieces_of, text_of_output
from .unmapped_fields import Json, besides, keep, kind_of, part_rest, restore, with_rest

_BETWEEN = "\n\n"
_INPUTS = ("action", "operation", "actions", "arguments")


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
    part = ReasoningPart(text=_BETWEEN.join(summary + content))
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
    if sum(lengths) + len(_BETWEEN) * max(len(lengths) - 1, 0) != len(part.text):
        summary, lengths = [len(part.text)], [len(part.text)]
    texts, start = [], 0
    for length in lengths:
        texts.append(part.text[start : start + length])
        start += length + len(_BETWEEN)
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
        return {**made, "arguments": written(part, NAME)}
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
    return {**made, "arguments": written(call, NAME), **answer}


def _read_image(item: Json) -> FilePart:
    format = item.get("output_format")
    media_type = f"image/{format}" if isinstance(format, str) else "image/png"
    part = with_rest(files.inline(media_type, item["result"]), NAME, {"type": item["type"]})
    return keep(part, NAME, item, _write_image(part))


def _write_image(part: FilePart) -> Json:
    return {"type": "image_generation_call", "result": files.encoded(part)}

"""Messages of OpenAI chat completions, and of the many servers that speak the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

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
from ..rules.ids import is_name
from . import files
from .client_values import mapping, mapping_at, objects_at, text_at, values_of
from .message_content import ContentFormat
from .message_like import MessageLike, checked_messages
from .role_blocks import BlockRules, RoleBlock, blocks_of
from .tool_outputs import call_of, openai_file, text_of_output, written_arguments
from .unmapped_fields import (
    Json,
    Reasoning,
    as_text,
    check_reasoning,
    difference,
    keep,
    kind_of,
    only_text,
    part_rest,
    restore,
    with_rest,
)
from .vendor_limits import fit_chat

NAME = "openai_chat"

_ROLES = {role: role for role in ("system", "developer", "user", "assistant")}
_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_FORMATS = {media_type: format for format, media_type in _AUDIO.items()}
# What is a field of the message, and a part here: its refusal, its reasoning, its audio.
_FIELDS = ("reasoning_content", "reasoning", "refusal", "audio")

BLOCK_RULES = BlockRules(NAME, users_hold_results=False, stays=lambda part: False)


def from_openai_chat(value: Any) -> list[NewMessage]:
    """Read a message, or a list of them; `UsageError` says where one is wrong."""
    return [_read(message, path) for message, path in values_of(value, "message", "messages")]


def to_openai_chat(
    messages: Iterable[MessageLike], *, wire: bool = False, reasoning: Reasoning = "text"
) -> list[Json]:
    """Write messages; those that came from this format are written as they came.

    Each tool result is a message right after the one with its call. `wire` also keeps the limits
    of the API: the length of ids, no empty messages. `reasoning` says what becomes of reasoning
    that this format has no field for.
    """
    check_reasoning(reasoning)
    written: list[Json] = []
    for block in blocks_of(checked_messages(messages), BLOCK_RULES):
        if block.role == "tool":
            written += [
                restore(write_result(part), block.rest)
                for part in block.parts
                if isinstance(part, ToolResultPart)
            ]
        elif (message := _write(block, reasoning)) is not None:
            written.append(message)
    return fit_chat(written) if wire else written


def _read(message: Json, path: str) -> NewMessage:
    role = text_at(message, "role", path)
    if role not in ("tool", "function"):
        if "name" not in message or not is_name(message["name"]):
            return CONTENT.read(message, role, path, _fields(message, path))
        unnamed = {key: value for key, value in message.items() if key != "name"}
        read = CONTENT.read(unnamed, role, path, _fields(unnamed, path))
        return msgspec.structs.replace(read, name=message["name"])
    part = read_result(message, path)
    rest = difference(write_result(part), message)
    return NewMessage(role="tool", parts=[part], metadata={NAME: rest} if rest else {})


def _fields(message: Json, path: str) -> Iterator[tuple[str, Part]]:
    """Yield the parts that stand beside the content, each with the field that it is in."""
    yield from read_fields(message)
    if message.get("tool_calls") is not None:
        for value, where in objects_at(message, "tool_calls", path):
            yield "tool_calls", read_call(value, where)
    if message.get("function_call") is not None:
        where = f"{path}.function_call"
        call = read_function_call(mapping(message["function_call"], where), where)
        yield "function_call", call


def _write(block: RoleBlock, reasoning: Reasoning) -> Json | None:
    text = only_text(block.parts, block.rest)
    named: Json = {} if block.name is None else {"name": block.name}
    if text is not None:
        return {"role": CONTENT.role_of(block.role), "content": text, **named}
    said: list[Part] = []
    fields: Json = {}
    calls: list[Json] = []
    for part in block.parts:
        if (field := field_of(part)) is not None:
            fields[field] = write_field(part, field)
        elif isinstance(part, ToolCallPart):
            calls.append(write_call(part))
        else:
            said.append(part)
    if calls:
        fields["tool_calls"] = calls
    written = CONTENT.write(block.role, said, block.rest, reasoning, fields)
    # What is kept of an older message has its name.
    return {**named, **written} if written else None


def _read_content(message: Json, role: str, path: str) -> list[Part]:
    return [_read_element(it, role, where) for it, where in objects_at(message, "content", path)]


def _read_element(value: Json, role: str, path: str) -> Part:
    kind = text_at(value, "type", path)
    part: TextPart | FilePart | None = None
    match kind:
        case "text" | "refusal":
            part = TextPart(text=text_at(value, kind, path))
        case "image_url":
            url = text_at(mapping_at(value, kind, path), "url", f"{path}.{kind}")
            part = files.by_url(url, None, files.ANY_IMAGE)
        case "input_audio":
            audio = mapping_at(value, kind, path)
            format = text_at(audio, "format", f"{path}.{kind}")
            data = text_at(audio, "data", f"{path}.{kind}")
            part = files.inline(_AUDIO.get(format, f"audio/{format}"), data)
        case "file":
            part = openai_file(mapping_at(value, kind, path))
    return OtherPart(value=value) if part is None else CONTENT.kept(part, role, kind, value)


def _default_kind(part: Part, role: str) -> str | None:
    if isinstance(part, TextPart):
        return "text"
    if not isinstance(part, FilePart) or role != "user":
        return None
    if files.is_inline_image(part) or (files.is_image(part) and files.is_on_the_web(part)):
        return "image_url"
    if files.is_inline(part) and part.media_type in _FORMATS:
        return "input_audio"
    is_pdf = files.is_inline(part) and part.media_type == files.PDF
    return "file" if is_pdf or files.id_at("openai", part) is not None else None


def _write_element(part: Part, kind: str) -> Json:
    match part:
        case TextPart(text=text):
            return {"type": kind, kind: text}
        case FilePart() if kind == "image_url":
            return {"type": kind, kind: {"url": files.url_of(part)}}
        case FilePart() if kind == "input_audio":
            format = _FORMATS.get(part.media_type) or part.media_type.removeprefix("audio/")
            return {"type": kind, kind: {"data": files.encoded(part), "format": format}}
        case FilePart():
            id = files.id_at("openai", part)
            file = {"file_data": files.url_of(part)} if id is None else {"file_id": id}
            return {"type": kind, kind: {**file, **files.name_as("filename", part)}}
        case _:
            return {}


CONTENT = ContentFormat(
    NAME, _ROLES, _read_content, _default_kind, _write_element, has_ids=False, may_be_null=True
)


def read_fields(message: Json) -> Iterator[tuple[str, Part]]:
    """Yield the fields of a message that say something, each with its name."""
    if message.keys().isdisjoint(_FIELDS):
        return
    for name in _FIELDS:
        rest = {NAME: {"field": name}}
        match message.get(name):
            case str(text) if name != "audio":
                kind = TextPart if name == "refusal" else ReasoningPart
                yield name, kind(text=text, extra=rest)
            case {"transcript": str(text)} if name == "audio":
                part = TextPart(text=text, extra=rest)
                yield name, keep(part, NAME, message[name], {"transcript": text})


def field_of(part: Part) -> str | None:
    """Return the field that a part is in a message, None when it is no field."""
    field = part_rest(part, NAME).get("field")
    return field if field in _FIELDS or field == "function_call" else None


def write_field(part: Part, field: str) -> Any:
    """Write a part as a field of its message."""
    if isinstance(part, ToolCallPart):
        made = {"name": part.name, "arguments": written_arguments(part, NAME)}
        return restore(made, part_rest(part, NAME))
    text = part.text if isinstance(part, (TextPart, ReasoningPart)) else ""
    return restore({"transcript": text}, part_rest(part, NAME)) if field == "audio" else text


# Calls and results.


def read_call(value: Json, path: str) -> ToolCallPart:
    """Read an element of a message's tool calls."""
    kind = text_at(value, "type", path) if "type" in value else "function"
    id = text_at(value, "id", path)
    if kind not in ("function", "custom"):
        extra = {NAME: {"type": kind}}
        part = ToolCallPart(call_id=id, name=kind, input=value.get(kind), extra=extra)
        return keep(part, NAME, value, _write_call(part))
    asked, where = mapping_at(value, kind, path), f"{path}.{kind}"
    field = "arguments" if kind == "function" else "input"
    name, raw = text_at(asked, "name", where), text_at(asked, field, where)
    if kind == "custom":
        part = ToolCallPart(call_id=id, name=name, input=raw, extra={NAME: {"type": kind}})
    else:
        part = call_of(id, name, raw, NAME)
        if len(asked) == 2 and len(value) == 3 and "type" in value:
            return part
    return keep(part, NAME, value, {"id": id, "type": kind, kind: {"name": name, field: raw}})


def read_function_call(value: Json, path: str) -> Part:
    """Read the call of the older form, which has no id: its name stands for it."""
    name, raw = text_at(value, "name", path), text_at(value, "arguments", path)
    made = {"name": name, "arguments": raw}
    return keep(call_of(name, name, raw, NAME), NAME, value, made, {"field": "function_call"})


def write_call(part: ToolCallPart) -> Json:
    """Write an element of a message's tool calls."""
    return restore(_write_call(part), part_rest(part, NAME))


def _write_call(part: ToolCallPart) -> Json:
    kind = kind_of(part, NAME) or "function"
    asked: Any = part.input
    if kind == "function":
        asked = {"name": part.name, "arguments": written_arguments(part, NAME)}
    elif kind == "custom":
        asked = {"name": part.name, "input": as_text(part.input)}
    return {"id": part.call_id, "type": kind, kind: asked}


def read_result(message: Json, path: str) -> ToolResultPart:
    """Read the message of a tool, or of a function in the older form."""
    is_tool = message["role"] == "tool"
    id = text_at(message, "tool_call_id" if is_tool else "name", path)
    part = ToolResultPart(call_id=id, output=message.get("content"))
    rest = {"verbatim": True} if isinstance(part.output, list) else {}
    return with_rest(part, NAME, rest if is_tool else {"type": "function", **rest})


def write_result(part: ToolResultPart) -> Json:
    """Write a result as a message of its own."""
    rest = part_rest(part, NAME)
    is_verbatim = "verbatim" in rest and isinstance(part.output, list)
    content = part.output if is_verbatim else text_of_output(part.output, part.is_error)
    if rest.get("type") == "function":
        return {"role": "function", "name": part.call_id, "content": content}
    return {"role": "tool", "tool_call_id": part.call_id, "content": content}

"""The AI SDK's UI messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from .client_values import id_of, objects_at, text_at, values_of
from .message_like import MessageLike, PartIndex, callers, checked_messages
from .unmapped_fields import (
    NAMES,
    AnyTyped,
    Json,
    as_text,
    difference,
    file_note,
    is_only_text,
    keep,
    kind_of,
    part_rest,
    rest_of,
    restore,
    with_rest,
)

NAME = "ai_sdk"
DENIED = "The tool was not allowed to run."

_OWN = ("step-start", "source-url", "source-document", "custom")
# What a tool part says only in the state that it was kept in.
_OF_STATE = ("approval", "preliminary", "rawInput", "resultProviderMetadata")
_ROLES = {"assistant": "assistant", "system": "system", "developer": "system", "tool": "assistant"}


def from_ai_sdk(value: Any) -> list[NewMessage]:
    """Read a UI message, or a list of them; `UsageError` says where one is wrong.

    A message's id is the client's, and its metadata, when that is an object, the message's.
    """
    return [_read(message, path) for message, path in values_of(value, "message", "messages")]


def to_ai_sdk(messages: Iterable[MessageLike]) -> list[Json]:
    """Write UI messages; those that came from this format are written as they came.

    The result of a tool stands in the part of its call, so that a message with results only is
    not shown by itself.
    """
    listed = checked_messages(messages)
    answers = _answers(listed)
    written = [_write(row, message, answers) for row, message in enumerate(listed)]
    return [message for message in written if message is not None]


def _answers(messages: list[MessageLike]) -> dict[PartIndex, ToolResultPart]:
    """Return the first result of each call, by the place of the call and by its own."""
    answers: dict[PartIndex, ToolResultPart] = {}
    for place, call in callers([message.parts for message in messages]).items():
        part = messages[place[0]].parts[place[1]]
        if call not in answers and isinstance(part, ToolResultPart):
            answers[call] = answers[place] = part
    return answers


def _read(message: Json, path: str) -> NewMessage:
    role = text_at(message, "role", path)
    parts: list[Part] = []
    for value, where in objects_at(message, "parts", path):
        parts += read_part(value, where)
    given = message.get("metadata")
    metadata = given if isinstance(given, dict) and given.keys().isdisjoint(NAMES) else {}
    id = id_of(message)
    rest: Json = {}
    if any(isinstance(part, OtherPart) and not is_own(part.value) for part in parts):
        rest["other"] = True
    # Each part is written as it came.
    rest |= difference(_made(id, role, message["parts"], metadata), message)
    kept = {**metadata, NAME: rest} if rest else metadata
    return NewMessage(role=role, parts=parts, metadata=kept, id=id)


def _made(id: str | None, role: str, parts: list[Json], metadata: Json) -> Json:
    made: Json = {} if id is None else {"id": id}
    made["role"] = _ROLES.get(role, "user")
    made["parts"] = parts
    return {**made, "metadata": metadata} if metadata else made


def _write(row: int, message: MessageLike, answers: dict[PartIndex, ToolResultPart]) -> Json | None:
    rest = rest_of(message.metadata, NAME)
    parts = list(_parts(row, message, answers, "other" in rest))
    if not parts and message.parts:
        return None
    metadata = message.metadata
    if not metadata.keys().isdisjoint(NAMES):
        metadata = {key: value for key, value in metadata.items() if key not in NAMES}
    return restore(_made(message.id, message.role, parts, metadata), rest)


def _parts(
    row: int, message: MessageLike, answers: dict[PartIndex, ToolResultPart], native: bool
) -> Iterator[Json]:
    for column, part in enumerate(message.parts):
        if isinstance(part, ToolCallPart):
            yield write_tool(part, answers.get((row, column)))
        elif not isinstance(part, ToolResultPart):
            yield write_part(part, native)
        elif (row, column) not in answers:
            yield write_orphan(part)


def is_own(value: Json) -> bool:
    """Whether a part is one of those that are carried as they are."""
    kind = value.get("type")
    return isinstance(kind, str) and (kind in _OWN or kind.startswith("data-"))


def read_part(value: Json, path: str) -> list[Part]:
    """Read a part; one of a tool may be a call and its result."""
    kind = text_at(value, "type", path)
    match kind:
        case "text":
            text = TextPart(text=text_at(value, "text", path))
            return [text if is_only_text(value) else _kept(text, kind, value)]
        case "reasoning":
            return [_kept(ReasoningPart(text=text_at(value, "text", path)), kind, value)]
        case "file" | "reasoning-file":
            return [_kept(_read_file(value, path), kind, value)]
        case "dynamic-tool":
            return _read_tool(text_at(value, "toolName", path), kind, value, path)
        case _ if kind.startswith("tool-"):
            return _read_tool(kind.removeprefix("tool-"), kind, value, path)
        case _:
            return [OtherPart(value=value)]


def _read_file(value: Json, path: str) -> FilePart:
    media_type, url = text_at(value, "mediaType", path), text_at(value, "url", path)
    return files.named(files.by_url(url, media_type), value.get("filename"))


def _kept(part: AnyTyped, kind: str, value: Json) -> AnyTyped:
    if kind == "reasoning-file":
        part = with_rest(part, NAME, {"type": kind})
    return keep(part, NAME, value, _write_said(part))


def _write_said(part: Part) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ReasoningPart):
        return {"type": "reasoning", "text": part.text}
    if not isinstance(part, FilePart):
        return {}
    kind = kind_of(part, NAME) or "file"
    file = {"type": kind, "mediaType": part.media_type, "url": files.url_of(part)}
    return {**file, **files.name_as("filename", part)}


def write_part(part: Part, native: bool) -> Json:
    """Write a part that is not a tool's."""
    if isinstance(part, FilePart) and not files.url_of(part):
        return {"type": "text", "text": file_note(part)}
    if isinstance(part, (TextPart, ReasoningPart, FilePart)):
        return restore(_write_said(part), part_rest(part, NAME))
    if isinstance(part, OtherPart) and (native or is_own(part.value)):
        return part.to_json()
    return {"type": "data-other", "data": part.to_json()}


# A tool's part: the call, and the result when there is one.


def _read_tool(name: str, kind: str, value: Json, path: str) -> list[Part]:
    id, state = text_at(value, "toolCallId", path), text_at(value, "state", path)
    call = ToolCallPart(call_id=id, name=name, input=value.get("input"))
    if kind == "dynamic-tool":
        call = with_rest(call, NAME, {"type": kind})
    result = _read_result(id, state, value, path)
    if state != _state(result):
        call = with_rest(call, NAME, {"state": state})
    call = keep(call, NAME, value, _write_tool(call, result))
    return [call] if result is None else [call, result]


def _read_result(id: str, state: str, value: Json, path: str) -> ToolResultPart | None:
    match state:
        case "output-available":
            return ToolResultPart(call_id=id, output=value.get("output"))
        case "output-error":
            text = text_at(value, "errorText", path)
            return ToolResultPart(call_id=id, output=text, is_error=True)
        case "output-denied":
            return ToolResultPart(call_id=id, output=_reason(value), is_error=True)
        case _:
            return None


def _reason(value: Json) -> str:
    approval = value.get("approval")
    reason = approval.get("reason") if isinstance(approval, dict) else None
    return reason if isinstance(reason, str) and reason else DENIED


def _state(result: ToolResultPart | None) -> str:
    if result is None:
        return "input-available"
    return "output-error" if result.is_error else "output-available"


def write_tool(call: ToolCallPart, result: ToolResultPart | None) -> Json:
    """Write a call, with its result when there is one, as one part."""
    rest = part_rest(call, NAME)
    put = rest.get("set")
    if isinstance(put, dict) and _is_past(rest, result):
        rest = {**rest, "set": {key: it for key, it in put.items() if key not in _OF_STATE}}
    return restore(_write_tool(call, result), rest)


def _is_past(rest: Json, result: ToolResultPart | None) -> bool:
    """Whether the call was answered, or lost its answer, since its state was kept."""
    state = rest.get("state")
    if isinstance(state, str):
        return state.startswith("output-") is not (result is not None)
    return result is None  # without one, what is said of a state is said of a result


def _write_tool(call: ToolCallPart, result: ToolResultPart | None) -> Json:
    rest = part_rest(call, NAME)
    state = _state(result)
    if isinstance(rest.get("state"), str) and not _is_past(rest, result):
        state = rest["state"]
    part: Json = {"type": f"tool-{call.name}", "toolCallId": call.call_id, "state": state}
    if kind_of(call, NAME) == "dynamic-tool":
        part |= {"type": "dynamic-tool", "toolName": call.name}
    part["input"] = call.input
    if result is None:
        return part
    if result.is_error:
        return {**part, "errorText": as_text(result.output)}
    return {**part, "output": result.output}


def write_orphan(result: ToolResultPart) -> Json:
    """Write a result whose call is not among the messages."""
    call = ToolCallPart(call_id=result.call_id, name="unknown", input={})
    return _write_tool(with_rest(call, NAME, {"type": "dynamic-tool"}), result)

"""Whose form a value is in: a piece of content, or a whole message."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from ..errors import UsageError
from ..model import NewMessage, OtherPart, Part, TextPart, part_from_json
from ..rules.wording import a_kind, did_you_mean
from . import ai_sdk, anthropic, openai_chat, openai_responses, openai_responses_parts
from .client_values import value_of
from .unmapped_fields import Json

OURS = "sapwood"
CHAT, RESPONSES = openai_chat.NAME, openai_responses_parts.NAME
CLAUDE, AI_SDK = anthropic.NAME, ai_sdk.NAME

# Whose a piece is, by its type and the first of these fields that it has.
_FORMS: dict[str, dict[str, str]] = {
    "text": {
        "cache_control": CLAUDE,
        "citations": CLAUDE,
        "state": AI_SDK,
        "providerMetadata": AI_SDK,
        "text": OURS,
    },
    "reasoning": {
        "summary": RESPONSES,
        "state": AI_SDK,
        "providerMetadata": AI_SDK,
        "text": OURS,
    },
    "tool_call": {"call_id": OURS},
    "tool_result": {"tool_use_id": CLAUDE, "call_id": OURS},
    "file": {"file": CHAT, "mediaType": AI_SDK, "media_type": OURS},
    "image_url": {"image_url": CHAT},
    "input_audio": {"input_audio": CHAT},
    "refusal": {"refusal": CHAT},
    "function": {"function": CHAT},
    "custom": {"custom": CHAT},
    "input_text": {"text": RESPONSES},
    "output_text": {"text": RESPONSES},
    "input_image": {"image_url": RESPONSES, "file_id": RESPONSES},
    "input_file": {"file_data": RESPONSES, "file_id": RESPONSES, "file_url": RESPONSES},
    "image": {"source": CLAUDE},
    "document": {"source": CLAUDE},
    "tool_use": {"id": CLAUDE},
    "server_tool_use": {"id": CLAUDE},
    "mcp_tool_use": {"id": CLAUDE},
    "thinking": {"thinking": CLAUDE},
    "redacted_thinking": {"data": CLAUDE},
    "search_result": {"source": CLAUDE},
    "container_upload": {"file_id": CLAUDE},
    "dynamic-tool": {"toolCallId": AI_SDK},
    "step-start": {"type": AI_SDK},
    "source-url": {"url": AI_SDK},
    "source-document": {"sourceId": AI_SDK},
    "reasoning-file": {"mediaType": AI_SDK},
}
# The same by how a type begins or ends.
_BEGINNINGS = {"tool-": ("toolCallId", AI_SDK), "data-": ("data", AI_SDK)}
_ENDS = {
    "_tool_result": ("tool_use_id", CLAUDE),
    "_call": ("call_id", RESPONSES),
    "_call_output": ("call_id", RESPONSES),
}
_RESPONSES_ITEMS = (
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_list_tools",
    "item_reference",
    "tool_search_output",
    "compaction",
)
# What only messages of chat completions have.
_CHAT_FIELDS = ("tool_calls", "function_call", "tool_call_id", "refusal", "audio")
_READERS: dict[str, Callable[[Any], list[NewMessage]]] = {
    CHAT: openai_chat.from_openai_chat,
    RESPONSES: openai_responses.from_openai_responses,
    CLAUDE: anthropic.from_anthropic,
    AI_SDK: ai_sdk.from_ai_sdk,
}
_WHOLE_ANSWERS = {
    "choices": "its message: response.choices[0].message",
    "output": "its items to append_all: response.output",
    "candidates": "its text and calls as parts",
}
_PLACE = re.compile(r"\w+(?:\.\w+)?\[(\d+)\]")
ON_PURPOSE = "to store any other object as it is, give OtherPart(value=...)"


class _Piece(NamedTuple):
    """A piece of content: whose form it is in, and where a message of that form has it."""

    value: Any
    path: str
    form: str
    holder: str


def read_content(
    content: Sequence[Any], role: str, paths: Sequence[str]
) -> tuple[list[Part], Json]:
    """Read a message's content, in whatever form its pieces are; also what its metadata keeps.

    `paths` are the places of the pieces. `UsageError` for one that is in no known form.
    """
    pieces = [_piece(it, path) for it, path in zip(content, paths, strict=True)]
    form = _one_vendor(pieces)
    if form is not None and form != AI_SDK:
        # A plain text is the same in all of them: it is read with those that stand around it.
        pieces = [_in_form(piece, form) for piece in pieces]
    parts: list[Part] = []
    metadata: Json = {}
    for (form, holder), run in groupby(pieces, lambda piece: (piece.form, piece.holder)):
        if form == OURS:
            parts += [_own_part(piece) for piece in run]
            continue
        for message in _read_run(form, holder, role, list(run)):
            parts += message.parts
            metadata |= message.metadata
    return parts, metadata


def _piece(value: Any, path: str) -> _Piece:
    if isinstance(value, (str, Part)):
        return _Piece(value, path, OURS, "")
    if not is_object(value):
        raise UsageError(
            f"{path} is {a_kind(value)}: give a string, a part, a JSON object or a list of these",
            path=path,
        )
    plain = value_of(value, path)
    form = _form_of(plain, path)
    return _Piece(plain, path, form, _holder(form, plain["type"]))


def _in_form(piece: _Piece, form: str) -> _Piece:
    is_text = isinstance(piece.value, dict) and piece.value["type"] == "text"
    return piece._replace(form=form, holder="content") if is_text else piece


def _holder(form: str, kind: str) -> str:
    if form == AI_SDK:
        return "parts"
    if form == CHAT and kind in ("function", "custom"):
        return "tool_calls"
    if form == RESPONSES and not kind.startswith(("input_", "output_")):
        return "items"
    return "content"


def _one_vendor(pieces: Sequence[_Piece]) -> str | None:
    """Return whose form the pieces are in, if they are of one vendor; a text proves the least."""
    vendors = [piece for piece in pieces if piece.form != OURS]
    proofs = {it.form for it in vendors if it.value["type"] != "text"}
    forms = proofs or {piece.form for piece in vendors}
    return forms.pop() if len(forms) == 1 else None


def _read_run(form: str, holder: str, role: str, run: list[_Piece]) -> list[NewMessage]:
    """Read pieces as what their vendor would have them in."""
    values: Any = [piece.value for piece in run]
    if holder == "tool_calls":
        values = {"role": "assistant", "content": None, holder: values}
    elif holder != "items":
        values = {"role": role if role in ("user", "assistant") else "user", holder: values}
    try:
        return _READERS[form](values)
    except UsageError as error:
        found = _PLACE.match(error.path)
        piece = run[int(found[1])] if found else run[0]
        place = piece.path + (error.path[found.end() :] if found else "")
        raise UsageError(str(error).replace(error.path, place, 1), path=place) from None


def _form_of(piece: Json, path: str) -> str:
    kind = piece.get("type")
    if not isinstance(kind, str):
        raise _untyped(piece, path)
    fields = _FORMS.get(kind)
    if fields is None:
        fields = _by_affix(kind)
    for field, form in fields.items():
        if field in piece:
            return form
    if not fields:
        raise UsageError(
            f"{path} has the type {kind!r}, which is not known{did_you_mean(kind, _FORMS)}"
            f" ({ON_PURPOSE})",
            path=path,
        )
    wanted = " or ".join(repr(field) for field in fields)
    raise UsageError(f"{path} has the type {kind!r}, and no {wanted}", path=path)


def _by_affix(kind: str) -> dict[str, str]:
    if kind in _RESPONSES_ITEMS:
        return {"type": RESPONSES}
    for beginning, (field, form) in _BEGINNINGS.items():
        if kind.startswith(beginning):
            return {field: form}
    for end, (field, form) in _ENDS.items():
        if kind.endswith(end):
            return {field: form, "id": form} if form == RESPONSES else {field: form}
    return {}


def _untyped(piece: Json, path: str) -> UsageError:
    if "role" in piece:
        advice = "is a whole message: give it to append in place of the role, or to append_all"
    elif isinstance(piece.get("text"), str):
        advice = 'has no type: give the text itself, or {"type": "text", "text": ...}'
    elif "content" in piece:
        advice = (
            'looks most like a message without a role: give {"role": ..., "content": ...} to '
            "append in place of the role, or the content alone"
        )
    else:
        named = ", ".join(map(repr, list(piece)[:5])) or "nothing"
        likely = [kind for kind, fields in _FORMS.items() if not fields.keys().isdisjoint(piece)]
        like = f": it looks most like the type {likely[0]!r}" if likely else ""
        advice = f"has no type, and holds {named}{like} ({ON_PURPOSE})"
    return UsageError(f"{path} {advice}", path=path)


def _own_part(piece: _Piece) -> Part:
    value, path = piece.value, piece.path
    if isinstance(value, str):
        return TextPart(text=value)
    part: Part = value if isinstance(value, Part) else part_from_json(value)
    if isinstance(part, OtherPart) and part is not value:
        raise UsageError(
            f"{path} has the type {value['type']!r}, and its fields are not those of one: make the "
            f"part itself, which says what is wrong ({ON_PURPOSE})",
            path=path,
        )
    return part


def read_messages(values: Sequence[tuple[Any, str]]) -> list[NewMessage]:
    """Read whole messages of vendors, plain or as objects of their SDKs, each with its place."""
    plain = [value_of(value, path) for value, path in values]
    paths = [path for _, path in values]
    forms = [_form_of_message(value, path) for value, path in zip(plain, paths, strict=True)]
    vendors = {form for form in forms if form not in (None, AI_SDK)}
    # A message of text alone is the same in all of them, and is read as those around it.
    usual = (vendors.pop() if len(vendors) == 1 else None) or CHAT
    return [
        _read_message(form or usual, value, path)
        for form, value, path in zip(forms, plain, paths, strict=True)
    ]


def _read_message(form: str, value: Json, path: str) -> NewMessage:
    try:
        [message] = _READERS[form](value)
    except UsageError as error:
        place = path + error.path.removeprefix("item" if form == RESPONSES else "message")
        raise UsageError(str(error).replace(error.path, place, 1), path=place) from None
    return message


def is_object(value: object) -> bool:
    """Whether a value is a JSON object, or an object of a vendor's SDK."""
    return isinstance(value, Mapping) or callable(getattr(value, "model_dump", None))


def _form_of_message(value: Json, path: str) -> str | None:
    """Return whose form a whole message is in; None when it is the same in all."""
    if "role" not in value:
        return _form_of_item(value, path)
    if isinstance(value.get("parts"), list):
        return AI_SDK
    if value["role"] in ("tool", "function") or not value.keys().isdisjoint(_CHAT_FIELDS):
        return CHAT
    content = value.get("content")
    if "stop_reason" in value:
        return CLAUDE
    form = None
    if isinstance(content, list):
        at = f"{path}.content"
        form = _one_vendor([_piece(it, f"{at}[{index}]") for index, it in enumerate(content)])
    elif not isinstance(content, str):
        raise UsageError(f"{path} has no content: give a string or a list", path=f"{path}.content")
    return RESPONSES if form is None and value.get("type") == "message" else form


def _form_of_item(value: Json, path: str) -> str:
    kind = value.get("type")
    if isinstance(kind, str) and kind != "message":
        form = _form_of(value, path)
        if form == RESPONSES:
            return form
        raise UsageError(
            f"{path} is a piece of content: give append(role, [it]), or a whole message",
            path=path,
        )
    for field, advice in _WHOLE_ANSWERS.items():
        if isinstance(value.get(field), list):
            raise UsageError(f"{path} is a model's whole answer: give {advice}", path=path)
    raise UsageError(
        f'{path} has no role: a message is {{"role": "user", "content": ...}}', path=path
    )

"""What stands in a message item of OpenAI responses: text, images and files."""

from __future__ import annotations

from ..model import FilePart, OtherPart, Part, TextPart
from . import files
from .client_values import text_at
from .part_text import Reasoning, text_of_part
from .tool_outputs import openai_file
from .unmapped_fields import (
    NOTHING,
    AnyTyped,
    Json,
    besides,
    keep,
    kind_in,
    part_rest,
    restore,
    with_rest,
)

NAME = "openai_responses"

_TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def read_content(value: Json, role: str, path: str) -> Part:
    """Read an element of a message's content."""
    kind = text_at(value, "type", path)
    part: TextPart | FilePart | None = None
    if kind == "output_text" and role == "assistant" and value.get("annotations") == []:
        part = TextPart(text=text_at(value, "text", path))
        return with_rest(part, NAME, besides(value, ("type", "text", "annotations")))
    if kind in _TEXTS:
        part = TextPart(text=text_at(value, _TEXTS[kind], path))
    elif kind == "input_image":
        part = _read_image(value)
    elif kind == "input_file":
        part = openai_file(value)
    return OtherPart(value=value) if part is None else _kept(part, role, kind, value)


def _read_image(value: Json) -> FilePart | None:
    if isinstance(value.get("image_url"), str):
        return files.by_url(value["image_url"], None, files.ANY_IMAGE)
    if isinstance(value.get("file_id"), str):
        return files.by_id("openai", value["file_id"], files.ANY_IMAGE)
    return None


def _kept(part: AnyTyped, role: str, kind: str, value: Json) -> AnyTyped:
    rest = NOTHING if kind == default_kind(part, role) else {"type": kind}
    return keep(part, NAME, value, _write(part, kind), rest)


def default_kind(part: Part, role: str) -> str | None:
    """Return the type by which a part is written in a message of a role, None when by none."""
    if isinstance(part, TextPart):
        return "output_text" if role == "assistant" else "input_text"
    if not isinstance(part, FilePart) or role == "assistant":
        return None
    is_there = files.is_on_the_web(part) or files.id_at("openai", part) is not None
    if files.is_image(part):
        return "input_image" if is_there or files.is_inline_image(part) else None
    is_pdf = files.is_inline(part) and part.media_type == files.PDF
    return "input_file" if is_there or is_pdf else None


def write_content(part: Part, role: str, native: bool, reasoning: Reasoning) -> Json | None:
    """Write an element of a message's content; None when there is nothing to say."""
    if native and isinstance(part, OtherPart):
        return part.to_json()
    rest = part_rest(part, NAME)
    kind = kind_in(rest) or default_kind(part, role)
    if kind is not None and isinstance(part, (TextPart, FilePart)):
        return restore(_write(part, kind), rest)
    text = text_of_part(part, reasoning)
    return (
        _write(TextPart(text=text), default_kind(TextPart(text=""), role) or "") if text else None
    )


def _write(part: TextPart | FilePart | Part, kind: str) -> Json:
    if isinstance(part, TextPart):
        made = {"type": kind, _TEXTS.get(kind, "text"): part.text}
        return {**made, "annotations": []} if kind == "output_text" else made
    if not isinstance(part, FilePart):
        return {}
    id = files.id_at("openai", part)
    if kind == "input_image":
        where = {"image_url": files.url_of(part)} if id is None else {"file_id": id}
        return {"type": kind, "detail": "auto", **where}
    return {"type": kind, **_write_file(part, id)}


def _write_file(part: FilePart, id: str | None) -> Json:
    if id is not None:
        where = {"file_id": id}
    elif files.encoded(part) is None:
        where = {"file_url": files.url_of(part)}
    else:
        where = {"file_data": files.url_of(part)}
    return where if part.name is None else {**where, "filename": part.name}

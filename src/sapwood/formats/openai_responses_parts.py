"""What stands in a message item of OpenAI responses: text, images and files."""

from __future__ import annotations

from ..model import FilePart, OtherPart, Part, TextPart
from . import files
from .client_values import objects_at, text_at
from .message_content import ContentFormat
from .tool_outputs import openai_file, openai_image
from .unmapped_fields import Json, besides, with_rest

NAME = "openai_responses"

_ROLES = {role: role for role in ("user", "assistant", "system", "developer")}
_TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
_OF_TEXT = {"type", "text", "annotations"}


def _read_content(message: Json, role: str, path: str) -> list[Part]:
    return [_read_element(it, role, where) for it, where in objects_at(message, "content", path)]


def _read_element(value: Json, role: str, path: str) -> Part:
    kind = text_at(value, "type", path)
    part: TextPart | FilePart | None = None
    if kind == "output_text" and role == "assistant" and value.get("annotations") == []:
        part = TextPart(text=text_at(value, "text", path))
        return with_rest(part, NAME, besides(value, ("type", "text", "annotations")))
    if kind in _TEXTS:
        part = TextPart(text=text_at(value, _TEXTS[kind], path))
    elif kind == "input_image":
        part = openai_image(value)
    elif kind == "input_file":
        part = openai_file(value)
    return OtherPart(value=value) if part is None else CONTENT.kept(part, role, kind, value)


def _default_kind(part: Part, role: str) -> str | None:
    if isinstance(part, TextPart):
        return "output_text" if role == "assistant" else "input_text"
    if not isinstance(part, FilePart) or role == "assistant":
        return None
    is_there = files.is_on_the_web(part) or files.id_at("openai", part) is not None
    if files.is_image(part):
        return "input_image" if is_there or files.is_inline_image(part) else None
    is_pdf = files.is_inline(part) and part.media_type == files.PDF
    return "input_file" if is_there or is_pdf else None


def _write(part: Part, kind: str) -> Json:
    if isinstance(part, TextPart):
        made = {"type": kind, _TEXTS.get(kind, "text"): part.text}
        return {**made, "annotations": []} if kind == "output_text" else made
    if not isinstance(part, FilePart):
        return {}
    id = files.id_at("openai", part)
    if kind == "input_image":
        where = {"image_url": files.url_of(part)} if id is None else {"file_id": id}
        return {"type": kind, "detail": "auto", **where}
    field = "file_url" if files.encoded(part) is None else "file_data"
    where = {field: files.url_of(part)} if id is None else {"file_id": id}
    return {"type": kind, **where, **files.name_as("filename", part)}


def _could_be_string(element: Json) -> bool:
    return element["type"] in ("input_text", "output_text") and element.keys() <= _OF_TEXT


CONTENT = ContentFormat(NAME, _ROLES, _read_content, _default_kind, _write, _could_be_string)

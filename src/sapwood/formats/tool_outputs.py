"""What a tool was asked and what it answered, in whichever format's words it was said."""

from __future__ import annotations

from typing import Any

import msgspec

from ..errors import UsageError
from ..model import FilePart, TextPart, ToolCallPart
from ..rules.codec import encode_json
from . import files
from .unmapped_fields import Json, as_text, file_note, part_rest, same

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def _parsed(raw: str) -> tuple[Any, str]:
    """Read arguments, and return with them how they would be written.

    An empty string is no arguments, and what is not JSON stays a string.
    """
    if not raw.strip():
        return {}, "{}"
    try:
        value = _decode(raw)
        return value, encode_json(value, "arguments").decode() if value is not None else "{}"
    except (msgspec.MsgspecError, UsageError, ValueError, RecursionError):
        return raw, _encode(raw).decode()


def call_of(call_id: str, name: str, raw: str, format: str) -> ToolCallPart:
    """Make a call; the arguments as they were written are kept where they could be otherwise."""
    input, plain = _parsed(raw)
    if plain == raw:
        return ToolCallPart(call_id=call_id, name=name, input=input)
    return ToolCallPart(call_id=call_id, name=name, input=input, extra={format: {"raw": raw}})


def written_arguments(part: ToolCallPart, format: str) -> str:
    """Write the arguments of a call: as they were, unless they were changed since."""
    raw = part_rest(part, format).get("raw")
    if isinstance(raw, str) and same(_parsed(raw)[0], part.input):
        return raw
    return "{}" if part.input is None else _encode(part.input).decode()


def as_object(value: Any) -> dict[str, Any]:
    """Return the input of a call as an object, for a format that takes nothing else."""
    if isinstance(value, dict):
        return value
    return {} if value is None else {"value": value}


def pieces_of(output: Any) -> list[TextPart | FilePart]:
    """Read a tool's output; what is not a list of text and files is text."""
    if isinstance(output, list) and output:
        parts = [_piece(item) for item in output]
        if all(part is not None for part in parts):
            return [part for part in parts if part is not None and not _is_blank(part)]
    text = as_text(output)
    return [TextPart(text=text)] if text else []


def text_of_output(output: Any, is_error: bool) -> str:
    """Return a tool's output as text, for a format that takes nothing else."""
    if not isinstance(output, str):
        pieces = pieces_of(output)
        output = "\n".join(it.text if isinstance(it, TextPart) else file_note(it) for it in pieces)
    return f"Error: {output}" if is_error else output


def _is_blank(part: TextPart | FilePart) -> bool:
    return isinstance(part, TextPart) and not part.text.strip()


def _piece(item: Any) -> TextPart | FilePart | None:
    match item:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
            return TextPart(text=text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return files.by_url(url, None, files.ANY_IMAGE)
        case {"type": "input_image"}:
            return openai_image(item)
        case {"type": "input_file"}:
            return openai_file(item)
        case {"type": "image" | "document" as kind, "source": dict(source)}:
            part = anthropic_file(kind, source)
            return None if part is None else files.named(part, item.get("title"))
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(media_type)}:
            return files.inline(media_type, data)
        case _:
            return None


def openai_image(item: Json) -> FilePart | None:
    """Read an image as OpenAI's responses have it: by its address, or by its id."""
    match item:
        case {"image_url": str(url)}:
            return files.by_url(url, None, files.ANY_IMAGE)
        case {"file_id": str(id)}:
            return files.by_id("openai", id, files.ANY_IMAGE)
        case _:
            return None


def openai_file(item: Json) -> FilePart | None:
    """Read a file as OpenAI has it: inline, at an address, or by its id."""
    match item:
        case {"file_data": str(data)}:
            part = files.by_url(data, None)
        case {"file_url": str(url)}:
            part = files.by_url(url, None)
        case {"file_id": str(id)}:
            part = files.by_id("openai", id, files.ANY_FILE)
        case _:
            return None
    return files.named(part, item.get("filename"))


def anthropic_file(kind: str, source: Json) -> FilePart | None:
    """Read the source of an image or a document as Anthropic has it."""
    otherwise = files.ANY_IMAGE if kind == "image" else "application/pdf"
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(data)}:
            return files.inline(media_type, data)
        case {"type": "url", "url": str(url)}:
            return FilePart(media_type=otherwise, uri=url)
        case {"type": "text", "media_type": str(media_type), "data": str(text)}:
            return FilePart(media_type=media_type, data=text.encode())
        case {"type": "file", "file_id": str(id)}:
            media_type = files.ANY_IMAGE if kind == "image" else files.ANY_FILE
            return files.by_id("anthropic", id, media_type)
        case _:
            return None

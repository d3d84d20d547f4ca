"""What of a stored message is searched, read from its bytes without decoding all of it."""

from __future__ import annotations

import msgspec

from ..errors import StoreCorruptError
from .codec import decode_body
from .json_text import is_plain_json
from .text import searchable


class _Part(msgspec.Struct, tag_field="type", gc=False):
    """A part as far as it is searched; JSON in it stays as it is written."""


class _Text(_Part, tag="text", gc=False):
    text: str


class _Reasoning(_Part, tag="reasoning", gc=False):
    pass


class _ToolCall(_Part, tag="tool_call", gc=False):
    name: str
    input: msgspec.Raw


class _ToolResult(_Part, tag="tool_result", gc=False):
    output: msgspec.Raw


class _File(_Part, tag="file", gc=False):
    name: str | None = None


class _Other(_Part, tag="other", gc=False):
    value: msgspec.Raw


class _Body(msgspec.Struct, gc=False):
    parts: list[_Text | _Reasoning | _ToolCall | _ToolResult | _File | _Other]


_decode = msgspec.json.Decoder(_Body).decode


def stored_text(body: bytes, where: str) -> str:
    """Return what `searchable` gives for the parts of a stored body."""
    try:
        parts = _decode(body).parts
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise StoreCorruptError(f"message {where} cannot be decoded: {error}") from error
    if len(parts) == 1 and type(parts[0]) is _Text:
        return parts[0].text
    texts = [_text_of(part) for part in parts]
    if None in texts:
        return searchable(decode_body(body, where).parts)
    return "\n".join([text for text in texts if text])


def _text_of(part: _Part) -> str | None:
    """Return the text of a part; None when its JSON does not read as it is written."""
    match part:
        case _Text(text=text):
            return text
        case _ToolCall(name=name, input=raw):
            asked = _plain(raw)
            return None if asked is None else f"{name} {asked}"
        case _ToolResult(output=raw) | _Other(value=raw):
            return _plain(raw)
        case _File(name=file):
            return file or ""
        case _:
            return ""


def _plain(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return text if text[:1] in "{[" and is_plain_json(text) else None

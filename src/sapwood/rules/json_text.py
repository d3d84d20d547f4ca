"""JSON as it is searched and shown: compact, its strings without escapes or binary data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

_ENCODED = re.compile(r"(?:data:[^,\s]{0,200},)?[0-9A-Za-z+/_=-]+")
_MIN_ENCODED = 512

_encode = msgspec.json.Encoder().encode


def json_text(value: Any) -> str:
    """Return a JSON value as text; a string alone has no quotes, and null is nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return _plain(value)
    text = _encode(value).decode()
    return text if is_plain_json(text) else "".join(_spelled(value))


def is_plain_json(text: str) -> bool:
    """Whether compact JSON is text as it is written: no escapes, no binary data."""
    return "\\" not in text and not _may_have_binary(text)


def _may_have_binary(text: str) -> bool:
    """Whether a string in it may be as long as binary data: no quote for so long."""
    start, end = 0, len(text) - _MIN_ENCODED
    while start <= end:
        quote = text.rfind('"', start, start + _MIN_ENCODED)
        if quote < 0:
            return True
        start = quote + 1
    return False


def _plain(text: str) -> str:
    """Leave out binary data in Base64 or hexadecimal, which is no text although JSON has it so."""
    is_binary = len(text) >= _MIN_ENCODED and _ENCODED.fullmatch(text)
    return "" if is_binary else text


def _spelled(value: Any) -> Iterator[str]:
    """Spell a value out as the encoder would, but for its strings."""
    # Not recursive: what is stored may be nested deeper than calls may be.
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, _Mark):
            yield value
        elif isinstance(value, str):
            yield f'"{_plain(value)}"'
        elif isinstance(value, dict):
            yield "{"
            rest += _between([*chain.from_iterable(value.items())], "}")
        elif isinstance(value, list):
            yield "["
            rest += _between(value, "]")
        else:
            yield _encode(value).decode()


class _Mark(str):
    """Punctuation of JSON, as told from a string in it."""

    __slots__ = ()


_COMMA, _COLON = _Mark(","), _Mark(":")


def _between(items: list[Any], end: str) -> list[Any]:
    """Return items with the punctuation between them, the last first."""
    marked: list[Any] = []
    for number, item in enumerate(items):
        if number:
            marked.append(_COLON if end == "}" and number % 2 else _COMMA)
        marked.append(item)
    return [_Mark(end), *reversed(marked)]

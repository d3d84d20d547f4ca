"""What of a message is searched and shown, and the tokens that an index makes of it."""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

import msgspec

from ..errors import StoreCorruptError
from ..model import FilePart, OtherPart, Part, TextPart, ToolCallPart, ToolResultPart
from .codec import decode_body
from .fold import Folded, Offsets, fold, fold_with_map
from .inline_files import json_in

__all__ = [
    "Folded",
    "Offsets",
    "fold",
    "fold_with_map",
    "is_plain_json",
    "is_unspaced",
    "is_word",
    "json_text",
    "searchable",
    "segment",
    "solid",
    "stored_text",
    "tokens",
]

# Letters, digits and marks of the scripts that are written without spaces, or with few that say
# little: Thai, Lao, Myanmar, Hangul, Khmer, the signs that stand among ideographs, Hiragana,
# Katakana, Bopomofo, Han.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109d\u1100-\u11ff"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9\u17f0-\u17f9\u3005-\u3007\u3021-\u302f"
    "\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c"
    "\ua9e0-\ua9fe\uaa60-\uaa7f\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U00016fe2-\U00016ff1\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
_ASCII_SOLID = re.compile("[0-9A-Za-z]")
# Letters and digits of ASCII and all beyond it; said by what it is not, it is compiled at once.
_TOKEN = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
# The same for text of ASCII alone, many times as fast: all else becomes a blank.
_BLANKED = bytes(code if chr(code).isalnum() else 32 for code in range(128)) + bytes(128)
_BLANK = array("I", [32])
_UTF32 = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"

_ENCODED = re.compile(r"(?:data:[^,\s]{0,200},)?[0-9A-Za-z+/_=-]+")
_MIN_ENCODED = 512

_encode_json = msgspec.json.Encoder().encode


@cache
def _unspaced_run() -> re.Pattern[str]:
    # Compiled when it is first used: many programs open a store and never search it.
    return re.compile(f"[{_UNSPACED}]+")


@cache
def is_unspaced(char: str) -> bool:
    """Whether a character belongs to a script that is written without spaces."""
    return _unspaced_run().match(char) is not None


@cache
def is_word(char: str) -> bool:
    """Whether a character is part of a word that spaces or punctuation set apart."""
    if is_unspaced(char):
        return False
    return char.isalnum() or unicodedata.category(char)[0] == "M"


@cache
def _marks() -> str:
    """Return the ranges of all marks, which a regular expression does not count as letters."""
    ranges: list[list[int]] = []
    # The gaps are ideographs, Hangul syllables, private use and symbols: none of them a mark.
    places = (range(0x300, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x1F000))
    for code in chain(*places, range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(code))[0] != "M":
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


@cache
def _separators() -> re.Pattern[str]:
    """Find the separators that an index would take for letters: those beyond ASCII, and NUL."""
    return re.compile(f"[^\x01-\x7f\\w{_marks()}{_UNSPACED}]+")


@cache
def _any_solid() -> re.Pattern[str]:
    return re.compile(f"(?!_)[\\w{_marks()}{_UNSPACED}]")


def solid(text: str, start: int = 0) -> int:
    """Return the place of the first character that is not a separator; the length if there is none.

    A separator is what neither `is_word` nor `is_unspaced`: blanks, punctuation, symbols.
    """
    found = (_ASCII_SOLID if text.isascii() else _any_solid()).search(text, start)
    return len(text) if found is None else found.start()


def segment(folded: str) -> str:
    """Prepare folded text for an index that knows nothing of scripts.

    Such an index takes runs of ASCII letters and digits and of everything beyond ASCII for
    tokens. So separators beyond ASCII become blanks, and a run of unspaced characters becomes
    its overlapping pairs and its last character: 部署线 is "部署 署线 线".
    """
    if folded.isascii():
        return folded if "\0" not in folded else folded.replace("\0", " ")
    spaced = _separators().sub(" ", folded)
    pieces: list[str] = []
    pairs = ""
    done = 0
    for found in _unspaced_run().finditer(spaced):
        start, end = found.span()
        pairs = pairs or _pairs(spaced)
        pieces += spaced[done:start], pairs[3 * start : 3 * end - 2]
        done = end
    pieces.append(spaced[done:])
    return " ".join(pieces)


def _pairs(text: str) -> str:
    """Return every character with the one after it and a blank: three for each, all at once."""
    chars = array("I")
    chars.frombytes(text.encode(_UTF32, "surrogatepass"))
    pairs = _BLANK * (3 * len(chars))
    pairs[::3] = chars
    pairs[1:-3:3] = chars[1:]
    return pairs.tobytes().decode(_UTF32, "surrogatepass")


def tokens(folded: str) -> list[str]:
    """Return the tokens that an index makes of a folded text, in order."""
    if folded.isascii():
        return folded.encode().translate(_BLANKED).decode().split()
    return _TOKEN.findall(segment(folded))


def searchable(parts: Sequence[Part]) -> str:
    """Return the text of a message that is searched: not its reasoning, nor binary data."""
    if len(parts) == 1 and type(parts[0]) is TextPart:
        return parts[0].text
    return "\n".join([text for part in parts if (text := _text_of(part))])


def _text_of(part: Part) -> str | None:
    match part:
        case TextPart(text=text):
            return text
        case ToolCallPart(name=name, input=value):
            return f"{name} {json_text(value)}"
        case ToolResultPart(output=value) | OtherPart(value=value):
            return json_text(value)
        case FilePart(name=name):
            return name
        case _:
            return None


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


_decode_stored = msgspec.json.Decoder(_Body).decode


def stored_text(body: bytes, where: str) -> str:
    """Return what `searchable` gives for the parts of a stored body."""
    try:
        parts = _decode_stored(json_in(body)).parts
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise StoreCorruptError(f"message {where} cannot be decoded: {error}") from error
    if len(parts) == 1 and type(parts[0]) is _Text:
        return parts[0].text
    texts = [_text_of_stored(part) for part in parts]
    if None in texts:
        return searchable(decode_body(body, where).parts)
    return "\n".join([text for text in texts if text])


def _text_of_stored(part: _Part) -> str | None:
    """Return the text of a part; None when its JSON does not read as it is written."""
    match part:
        case _Text(text=text):
            return text
        case _ToolCall(name=name, input=raw):
            asked = _plain_json(raw)
            return None if asked is None else f"{name} {asked}"
        case _ToolResult(output=raw) | _Other(value=raw):
            return _plain_json(raw)
        case _File(name=file):
            return file or ""
        case _:
            return ""


def _plain_json(raw: msgspec.Raw) -> str | None:
    text = bytes(raw).decode()
    return text if text[:1] in "{[" and is_plain_json(text) else None


def json_text(value: Any) -> str:
    """Return a JSON value as text; a string alone has no quotes, and null is nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return _plain(value)
    text = _encode_json(value).decode()
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
            yield _encode_json(value).decode()


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

"""What of a message is searched, and the tokens that an index makes of it."""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Sequence
from functools import cache
from itertools import chain

from ..model import FilePart, OtherPart, Part, TextPart, ToolCallPart, ToolResultPart
from .fold import Folded, Offsets, fold, fold_with_map
from .json_text import json_text

__all__ = [
    "Folded",
    "Offsets",
    "fold",
    "fold_with_map",
    "is_unspaced",
    "is_word",
    "searchable",
    "segment",
    "solid",
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

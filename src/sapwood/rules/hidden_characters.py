"""Characters that hide or reorder text: what is read is then not what is written.

Ordinary text passes in every script: the joiners of Persian, Arabic and Indic words, emoji that
are made of several, flags, selectors of an emoji's or an ideograph's shape.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"

# Most text has none of these, and is known to be clean after one look.
_SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891"
    "\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
# A subdivision's flag is a black flag, its letters as tags, and the tag that ends them.
_FLAG_OR_SUSPECT = re.compile(
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f|" + _SUSPECT.pattern
)
# Format characters that are seen: signs which stand above or around the digits after them.
_SEEN = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")
# Scripts whose letters join or stack: Arabic and its kin, Mongolian, and those of India.
_JOINING = re.compile(
    "[\u0600-\u07bf\u07c0-\u07ff\u0840-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af"
    "\u1a20-\u1aaf\u1b00-\u1c4f\u1cd0-\u1cff\ua800-\ua82f\ua840-\ua87f\ua880-\ua8ff\ua930-\ua95f"
    "\ua980-\ua9df\uaa00-\uaa5f\uaae0-\uaaff\uabc0-\uabff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00010a5f\U00010d00-\U00010d3f\U00010f30-\U00010f6f\U00011000-\U00011fff"
    "\U0001e900-\U0001e95f]"
)
# Scripts that set no blanks between words and mark where a line may break.
_BREAKING = re.compile("[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df]")
_IDEOGRAPH = re.compile(
    "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]"
)
_SHAPED = re.compile("[\u2190-\u2bff\u3000-\u303f\u3200-\u32ff\uff00-\uffef]")
_PICTURE = re.compile("[\u2190-\u21ff\U0001f000-\U0001faff]")
_TONE = re.compile("[\U0001f3fb-\U0001f3ff]")
_OTHER_BASES = "\u203c\u2049\u2122\u2139\u3030\u303d"


def find_hidden(text: str) -> list[tuple[int, str]]:
    """Return the places of characters that hide or reorder text, with their names."""
    return [
        (at, name_of(text[at]))
        for found in _FLAG_OR_SUSPECT.finditer(text)
        if len(found[0]) == 1 and not _is_ordinary(text, at := found.start())
    ]


@cache
def name_of(char: str) -> str:
    """Name a character: its number, and its name if it has one."""
    name = unicodedata.name(char, "").strip()
    return f"U+{ord(char):04X} {name}".strip()


def _is_ordinary(text: str, at: int) -> bool:
    char = text[at]
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if char in (_ZWJ, _ZWNJ):
        return _joins_letters(before, after) or (char == _ZWJ and _joins_pictures(before, after))
    if char == _ZWSP:
        return bool(_BREAKING.match(before) and _BREAKING.match(after))
    if "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return _selects_shape(char, before, after)
    if "\u180b" <= char <= "\u180f":
        return "\u1820" <= before <= "\u18aa"
    if char in "\u115f\u1160":
        return _is_jamo(before) or _is_jamo(after)
    if "\U00013430" <= char <= "\U0001345f":
        return "\U00013000" <= before <= "\U0001345f"
    return _SEEN.match(char) is not None


def _joins_letters(before: str, after: str) -> bool:
    """Whether a joiner stands after a letter that joins, or between one such and another."""
    if not _is_letter(before) or after in (_ZWJ, _ZWNJ, _ZWSP):
        return False
    return bool(_JOINING.match(before)) or (_is_letter(after) and bool(_JOINING.match(after)))


def _is_letter(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] in "LMN" and not _SUSPECT.match(char)


def _joins_pictures(before: str, after: str) -> bool:
    follows = _is_picture(before) or before == "\ufe0f" or _TONE.match(before) is not None
    return follows and _is_picture(after)


def _is_picture(char: str) -> bool:
    # Emoji newer than this Python's tables have no category yet: they are known by their place.
    return char != "" and (unicodedata.category(char) == "So" or _PICTURE.match(char) is not None)


def _selects_shape(char: str, before: str, after: str) -> bool:
    """Whether a selector follows what it can select a shape of; a second one never does."""
    if before == "":
        return False
    if char in "\ufe0e\ufe0f":
        if before in "0123456789#*":
            return after == "\u20e3"
        return _is_picture(before) or before in _OTHER_BASES or bool(_SHAPED.match(before))
    if _IDEOGRAPH.match(before):
        return char <= "\ufe02" or char >= "\U000e0100"
    if "\u1820" <= before <= "\u18aa" or "\u1000" <= before <= "\u109f":
        return char == "\ufe00"
    return char <= "\ufe02" and bool(_SHAPED.match(before))


def _is_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff" and char not in "\u115f\u1160"

"""Where a text may be cut: at the end of a word, and never within a character."""

from __future__ import annotations

import unicodedata

from .text import is_word

_JOINER = "\u200d"


def cut_place(text: str, places: range, outwards: int) -> int:
    """Return the first of these places where a word ends; else the first, moved outwards."""
    found = next((at for at in places if _is_boundary(text, at)), None)
    return whole_place(text, places[0], outwards) if found is None else found


def whole_place(text: str, at: int, step: int) -> int:
    """Move a place out of a character that is made of several."""
    while 0 < at < len(text) and _continues(text[at - 1], text[at]):
        at += step
    return at


def _is_boundary(text: str, at: int) -> bool:
    if not 0 < at < len(text) or text[at] == " ":
        return True
    return not (is_word(text[at - 1]) and is_word(text[at])) and whole_place(text, at, 1) == at


def _continues(before: str, char: str) -> bool:
    return (
        before == _JOINER
        or char == _JOINER
        or unicodedata.category(char)[0] == "M"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )

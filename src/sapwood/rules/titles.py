"""Titles of sessions: cleaned, compared, derived from what was said, and numbered.

A title belongs to a lineage: `Plan`, `Plan #2`, `Plan #3`. The number is read from the end, ` #`
and a whole number from 1 to 999,999,999 as it is usually written; `Plan #draft`, `Plan #0` and
`Plan #03` are titles of their own. `Plan #1` is read as the first of its lineage, and never made.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

from ..errors import UsageError
from . import check
from .cut import cut_place
from .hidden_characters import find_hidden
from .wording import counted

TitleSource = Literal["derived", "model", "user"]
"""Where a title came from, by rising authority: a message's text, a model, the user."""

MAX_TITLE = 100
"""How many characters a title has at most, its number among them."""
MAX_DERIVED = 48
MAX_MODEL_TITLE = 80
MAX_MODEL_WORDS = 12
MAX_NUMBER = 999_999_999

_AUTHORITY = ("derived", "model", "user")
_LOOKED_AT = 4_000
_NUMBERED = re.compile(r"(.+) #([1-9][0-9]{0,8})", re.DOTALL)
# What is there and is not seen, by which alone two titles must not differ.
_UNSEEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_FENCE = re.compile(r"\s*(```|~~~)")
_TAG = re.compile(r"\s*<[^<>]*>\s*")
_MARKUP = re.compile(r"(?:(?:#{1,6}|>|[-*+•]|\d{1,3}[.)])\s+)+")
_QUOTES = ('""', "''", "``", "“”", "„“", "\u2018\u2019", "«»", "「」", "『』")


def clean_title(title: str) -> str:
    """Return a title without what cannot be seen, in NFC, with one blank between words.

    Control, zero-width and bidirectional characters go, but for those that a script or an emoji is
    written with. Raises `UsageError` when nothing is left, or more than 100 characters are.
    """
    if isinstance(title, str):
        _refuse_long(title, _LOOKED_AT)
    cleaned = _cleaned(title)
    if not cleaned:
        raise UsageError("the title is empty: give a word, or None for no title", path="title")
    _refuse_long(cleaned, MAX_TITLE)
    return cleaned


def check_model_title(answer: str) -> str:
    """Return a title that a model gave, cleaned; refuse one that is empty, or no title by length.

    Quotation marks around it are left out.
    """
    title = clean_title(answer)
    if len(title) > 2 and title[0] + title[-1] in _QUOTES:
        title = clean_title(title[1:-1])
    _refuse_long(title, MAX_MODEL_TITLE)
    words = len(title.split())
    if words > MAX_MODEL_WORDS:
        raise UsageError(
            f"the title has {words} words: {MAX_MODEL_WORDS} at most, of a model", path="title"
        )
    return title


def fold_title(title: str) -> str:
    """Return what titles are compared by: without case, compatibility forms, what is not seen.

    Case is folded and NFKC taken, in turns, until neither changes anything; accents count.
    """
    text = _UNSEEN.sub("", title)
    for _ in range(2):
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(_UNSEEN.sub("", text).split())


def derive_title(text: str) -> str | None:
    """Return a title from the first line that says something, of at most 48 characters.

    It has a letter or a digit, and is not the code of a fenced block where another line is there;
    marks of headings, quotations and lists are left out, and it is cut where a word ends.
    """
    for line in _lines(text[:_LOOKED_AT]):
        title = _cleaned(_MARKUP.sub("", line.strip(), count=1))
        if any(char.isalnum() for char in title):
            return _shortened(title, MAX_DERIVED)
    return None


def split_number(title: str) -> tuple[str, int]:
    """Return a title without its number, and the number; 1 where it has none."""
    found = _NUMBERED.fullmatch(title)
    return (found[1], int(found[2])) if found else (title, 1)


def numbered(base: str, number: int) -> str:
    """Return the title of this number in a lineage; a base that is too long for it is cut."""
    check.count(number, "number", 1, MAX_NUMBER)
    end = "" if number == 1 else f" #{number}"
    return _shortened(_cleaned(base), MAX_TITLE - len(end)) + end


def number_in_lineage(title: str, base: str) -> int | None:
    """Return which number a title has in the lineage of a base; None when it is not in it.

    The base itself is the first, also when it ends with a number.
    """
    folded, first = fold_title(title), fold_title(base)
    if folded == first:
        return 1
    stem, number = split_number(folded)
    if number == 1:
        return 1 if stem == first else None
    return number if folded == fold_title(numbered(base, number)) else None


def next_number(base: str, titles: Iterable[str]) -> int:
    """Return the number of the next title in a lineage: one more than the highest among these.

    1 when there is none. When the highest is the last that there is, the lowest that is free.
    """
    taken = {number_in_lineage(title, base) for title in titles} - {None}
    last = max((number for number in taken if number is not None), default=0)
    if last < MAX_NUMBER:
        return last + 1
    return next(number for number in range(2, MAX_NUMBER) if number not in taken)


def may_retitle(title: str | None, held: str | None, new: TitleSource) -> bool:
    """Whether a title from a new source may take the place of one from another.

    The user's own always may; an automatic one only over less authority. A title of which nobody
    knows where it came from counts as the user's.
    """
    if new == "user" or held is None:
        return new == "user" or title is None
    return _AUTHORITY.index(new) > (_AUTHORITY.index(held) if held in _AUTHORITY else 2)


def _cleaned(text: str) -> str:
    check.text(text, "title")
    while True:
        seen = unicodedata.normalize("NFC", " ".join(text.split()))
        hidden = {at for at, _ in find_hidden(seen)}
        seen = "".join(char for at, char in enumerate(seen) if at not in hidden)
        # What stands beside a character that has gone may itself have become one that hides.
        if seen == text:
            return seen
        text = seen


def _refuse_long(title: str, most: int) -> None:
    if len(title) > most:
        raise UsageError(
            f"the title has {counted(len(title), 'character')}: give at most {most}", path="title"
        )


def _shortened(title: str, most: int) -> str:
    """Cut a title that is too long where a word ends, if one does in its second half."""
    if len(title) <= most:
        return title
    at = cut_place(title, range(most, most // 2, -1), -1) or most
    return _cleaned(title[:at].rstrip(" ,;:([")) or title[:at]


def _lines(text: str) -> list[str]:
    """Return the lines of a text; those in a fenced block come last."""
    outside: list[str] = []
    inside: list[str] = []
    is_inside = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_inside = not is_inside
        elif not _TAG.fullmatch(line):
            (inside if is_inside else outside).append(line)
    return outside + inside

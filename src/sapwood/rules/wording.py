"""How errors name things: "an int", "2 sessions", "did you mean …?"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_YOU = re.compile(r"uni(?!n|m)|us[aeu]|ut[ci]|uu|ur[il]|eu|one", re.IGNORECASE)
"""How words begin that are spelt with a vowel and spoken with none: a unit, a usage, a URL."""


def a_kind(value: object) -> str:
    """Return the name of a value's type with its article, such as "an int", or "None"."""
    if value is None or isinstance(value, bytes):
        return "None" if value is None else "bytes"
    return with_article(type(value).__name__)


def with_article(noun: str) -> str:
    """Return a noun with its article, if it is no plural."""
    if noun.endswith("s"):
        return noun
    is_vowel = noun[:1].lower() in tuple("aeiou") and not _YOU.match(noun)
    return f"an {noun}" if is_vowel else f"a {noun}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 session", "2 sessions" or "2 entries"."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names what is spelt most like a word; empty when nothing is."""
    nearest = get_close_matches(word, list(known), n=1)
    return f": did you mean {nearest[0]!r}?" if nearest else ""

"""The words of a text as PostgreSQL indexes them, and a query in those words.

The index has the words of a text without their places: it finds candidates, and the texts decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import StoreCorruptError
from ...rules.match import Alternative
from ...rules.query import Query, candidates
from ...rules.text import fold, stored_text, tokens

# PostgreSQL takes words of up to 2,046 bytes, and of all words of a text one million.
LONGEST_WORD = 250
MOST_BYTES = 900_000
ANY = "'_any'"
"""What a text has in place of its words when they are too many: it is always looked at."""


def owner_word(number: int) -> str:
    """Return the word that all that an owner wrote has."""
    return f"_o{number}"


def home_word(number: int) -> str:
    """Return the word that all that a home wrote has."""
    return f"_h{number}"


def body_words(body: bytes, id: str) -> str:
    """Return the words of a stored message, as text of a tsvector; none if it cannot be decoded."""
    try:
        return text_words(stored_text(body, id))
    except StoreCorruptError:
        # Whoever reads the message is told; the others are still to be found.
        return ""


def text_words(text: str) -> str:
    """Return the words of a text, each once."""
    words = set(tokens(fold(text)))
    if not words:
        return ""
    if max(map(len, words)) > LONGEST_WORD:
        words = {word[:LONGEST_WORD] for word in words}
    # No word has a quote in it: those separate.
    listed = "'" + "' '".join(words) + "'"
    return listed if len(listed.encode()) <= MOST_BYTES else ANY


def question(query: Query, owner: int, homes: Sequence[int]) -> str:
    """Return a query as a tsquery that finds all that matches, and maybe more."""
    sides = " | ".join(_side(side) for side in candidates(query))
    asked = f"'{owner_word(owner)}' & ({sides} | {ANY})"
    if homes:
        asked += f" & ({' | '.join(_quoted(map(home_word, homes)))})"
    return asked


def _quoted(words: Iterable[str]) -> list[str]:
    return [f"'{word}'" for word in words]


def _side(side: Alternative) -> str:
    """Return one side of an OR; what must not be there is left to whoever looks at the text."""
    found = []
    for sequence in side.all_of:
        *whole, last = (word[:LONGEST_WORD] for word in sequence.tokens)
        found += _quoted(whole)
        found.append(f"'{last}'" + (":*" if sequence.prefix else ""))
    return "(" + " & ".join(dict.fromkeys(found)) + ")"

"""Putting messages and summaries into the index, and taking them out again.

A message is known by its position, a summary by its overlay's number below zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from ....rules.text import fold, segment
from ..connection import Connection
from ..rows import text_in
from .file import OWNER_BITS

SUMMARY_HOME = "o"
_CHUNK = 200


class Text(NamedTuple):
    """Something to be found: whose it is, where it stands, what it says and where it was said."""

    owner: int
    pos: int
    said: str
    home: str


def home_token(home: int) -> str:
    """Return the token by which all that a session wrote is found."""
    return f"h{home}"


def text_of(owner: int, row: tuple[Any, ...]) -> Text:
    """Return the text of a message's row; a damaged one has none."""
    pos, home, *_ = row
    return Text(owner, pos, segment(fold(text_in(row) or "")), home_token(home))


def summary_text(owner: int, number: int, summary: str) -> Text:
    """Return the text of an overlay."""
    return Text(owner, -number, segment(fold(summary)), SUMMARY_HOME)


class Entries:
    """The entries of an open index, inside its transaction."""

    def __init__(self, index: Connection) -> None:
        self._index = index
        self._last: dict[int, int] = {}
        self._kept: dict[int, int] = {}

    def add(self, texts: Iterable[Text]) -> None:
        """Add texts that are not in the index, with numbers that rise for each owner.

        What was removed just before gets its old number again: an edit makes nothing newer.
        """
        rest = iter(texts)
        while chunk := list(islice(rest, _CHUNK)):
            numbers = [self._kept.get(text.pos) or self._next(text.owner) for text in chunk]
            self._index.run_many(
                "INSERT INTO entry VALUES (?, ?)",
                [(number, text.pos) for number, text in zip(numbers, chunk, strict=True)],
            )
            self._index.run_many(
                "INSERT INTO words (rowid, said, home) VALUES (?, ?, ?)",
                [(n, text.said, text.home) for n, text in zip(numbers, chunk, strict=True)],
            )

    def _next(self, owner: int) -> int:
        last = self._last.get(owner)
        if last is None:
            first = owner << OWNER_BITS
            end = (owner + 1) << OWNER_BITS
            found = self._index.value(
                "SELECT max(number) FROM entry WHERE number >= ? AND number < ?", (first, end)
            )
            kept = [number for number in self._kept.values() if first <= number < end]
            last = max([first if found is None else found, *kept])
        self._last[owner] = last + 1
        return last + 1

    def remove(self, first: int, last: int) -> bool:
        """Remove what stands in a range of positions; return whether there was anything."""
        removed = self._index.rows(
            "DELETE FROM entry WHERE pos BETWEEN ? AND ? RETURNING pos, number", (first, last)
        )
        self._kept.update(removed)
        self._index.run_many(
            "DELETE FROM words WHERE rowid = ?", [(number,) for _, number in removed]
        )
        return bool(removed)

    def remove_all(self) -> bool:
        """Empty the index; return whether there was anything."""
        was_filled = bool(self._index.value("SELECT EXISTS (SELECT 1 FROM entry)"))
        self._index.run("DELETE FROM entry", ())
        self._index.run("INSERT INTO words (words) VALUES ('delete-all')", ())
        self._last.clear()
        return was_filled


def join(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in the order that they have; those that touch the last as one with it."""
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and joined[-1][0] <= first <= joined[-1][1] + 1:
            begin, end = joined[-1]
            joined[-1] = begin, max(end, last)
        else:
            joined.append((first, last))
    return joined

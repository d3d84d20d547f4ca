"""The question to the index: a query as an FTS5 expression, and what it finds, the newest first."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from ....rules import match, term
from ....rules.query import Query, candidates
from ....rules.relevance import TermCounts
from ..connection import Connection
from .file import OWNER_BITS, IndexFailedError

MOST_IN_A_BATCH = 500

_WHERE = (
    " FROM words JOIN entry e ON e.number = words.rowid"
    " WHERE words MATCH ? AND words.rowid > ? AND words.rowid < ?"
    " ORDER BY words.rowid DESC LIMIT ?"
)
_ASK = f"SELECT e.number, e.pos, NULL{_WHERE}"
_ASK_AND_COUNT = f"SELECT e.number, e.pos, tally(words, ?){_WHERE}"


class Candidate(NamedTuple):
    """An entry that may match, and what its score is worked out from, if it has one."""

    pos: int
    counted: TermCounts | None


class Question:
    """A query in the index's own words."""

    def __init__(self, query: Query, homes: Sequence[str]) -> None:
        self._numbers: dict[term.TokenSequence, int] = {}
        self._terms_of_phrases = array("H")
        sides = " OR ".join(f"({self._side(side)})" for side in candidates(query))
        self.text = f"{{said}} : ({sides})"
        if homes:
            self.text += " AND {home} : (" + " OR ".join(f'"{home}"' for home in homes) + ")"

    def _side(self, side: match.Alternative) -> str:
        wanted = " AND ".join([self._phrase(sequence, True) for sequence in side.all_of])
        if not side.none_of:
            return wanted
        unwanted = " OR ".join([self._phrase(sequence, False) for sequence in side.none_of])
        return f"({wanted}) NOT ({unwanted})"

    def _phrase(self, sequence: term.TokenSequence, is_wanted: bool) -> str:
        number = self._numbers.setdefault(sequence, len(self._numbers) + 1) if is_wanted else 0
        self._terms_of_phrases.append(number)
        # No token has a quote in it: those separate.
        return f'"{" ".join(sequence.tokens)}"' + (" *" if sequence.prefix else "")

    def ask(
        self, index: Connection, owner: int, batch: int, *, counting: bool
    ) -> Iterator[list[Candidate]]:
        """Yield what is found among an owner's entries, in batches, the newest first.

        The terms in each are counted when that is asked for.
        """
        first, end = owner << OWNER_BITS, (owner + 1) << OWNER_BITS
        while rows := self._page(index, (self.text, first, end, batch), counting):
            yield [Candidate(pos, tally and _counted(tally)) for _, pos, tally in rows]
            if len(rows) < batch:
                return
            end, batch = rows[-1][0], min(4 * batch, MOST_IN_A_BATCH)

    def _page(self, index: Connection, args: tuple[Any, ...], counting: bool) -> list[Any]:
        try:
            if counting:
                return index.rows(_ASK_AND_COUNT, (self._terms_of_phrases.tobytes(), *args))
            return index.rows(_ASK, args)
        except apsw.Error as error:
            raise IndexFailedError(str(error)) from error


def tally(api: apsw.FTS5ExtensionApi, *args: Any) -> bytes:
    """Count the words of an entry, and each term in it.

    Called by SQLite with the number of the term that each phrase is, 0 for none.
    """
    (terms_of_phrases,) = args
    terms = array("H", terms_of_phrases)
    counts = array("I", bytes(4 * (max(terms) + 1)))
    counts[0] = api.column_size(0)
    for phrase, term_number in enumerate(terms):
        if term_number:
            counts[term_number] = len(api.phrase_column_offsets(phrase, 0))
    return counts.tobytes()


def _counted(tally: bytes) -> TermCounts:
    length, *counts = array("I", tally)
    return TermCounts(counts, length)

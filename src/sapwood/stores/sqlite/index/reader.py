"""The index as searches see it: open while it is whole, and asked by an FTS5 expression."""

from __future__ import annotations

import logging
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from ....rules import match
from ....rules.query import Query, candidates
from ....rules.relevance import TermCounts
from ..connection import POLL_S, Connection
from ..failure import is_damage
from .file import FORMAT, OWNER_BITS, IndexFailedError, open_index_reader, refuse_if_cut

logger = logging.getLogger(__name__)

MOST_IN_A_BATCH = 500

_WHERE = (
    " FROM words JOIN entry e ON e.number = words.rowid"
    " WHERE words MATCH ? AND words.rowid > ? AND words.rowid < ?"
    " ORDER BY words.rowid DESC LIMIT ?"
)
_ASK = f"SELECT e.number, e.pos, NULL{_WHERE}"
_ASK_AND_COUNT = f"SELECT e.number, e.pos, tally(words, ?){_WHERE}"


class IndexReader:
    """A connection that reads the index, used by one thread at a time."""

    def __init__(self, path: str, clock: Callable[[], int]) -> None:
        self._path = path
        self._clock = clock
        self._index: Connection | None = None
        self._file: tuple[int, int] | None = None
        self._is_ours = False

    @contextmanager
    def open(self) -> Iterator[Connection | None]:
        """Yield the index on one snapshot; None when it is not there or cannot be used.

        Raises IndexFailedError at the end when what was read may be wrong.
        """
        try:
            index = self._current()
        except (apsw.Error, OSError):
            self._give_up()
            index = None
        if index is None:
            yield None
            return
        index.roll_back()
        with index.snapshot():
            yield index
            try:
                refuse_if_cut(index)
            except apsw.Error as error:
                # Opened again by the next: what was read as zeros is remembered as that.
                self._file = None
                raise IndexFailedError(str(error)) from error

    def _current(self) -> Connection | None:
        """Open the file that is there now: a repair may have put another in its place."""
        try:
            found = Path(self._path).stat()
        except FileNotFoundError:
            self.close()
            return None
        if self._file != (found.st_dev, found.st_ino):
            self.close()
            self._file = (found.st_dev, found.st_ino)
            self._index = open_index_reader(self._path, self._clock, POLL_S)
            if self._index is not None:
                self._index.raw.register_fts5_function("tally", tally)
        if self._index is not None and not self._is_ours:
            # Asked again until it is: it is made anew in the same file.
            self._is_ours = self._index.value("PRAGMA user_version") == FORMAT
        return self._index if self._is_ours else None

    def _give_up(self) -> None:
        # What passes by itself, as its making by another thread does, is nobody's concern.
        level = logging.WARNING if is_damage(sys.exc_info()[1]) else logging.DEBUG
        logger.log(level, "%s cannot be used: searching without it", self._path)
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._index is not None:
            self._index.close()
        self._index = self._file = None
        self._is_ours = False


class Candidate(NamedTuple):
    """An entry that may match, and what its score is worked out from, if it has one."""

    pos: int
    counted: TermCounts | None
    number: int = 0


class Question:
    """A query in the index's own words."""

    def __init__(self, query: Query, homes: Sequence[str]) -> None:
        self._numbers: dict[match.TokenSequence, int] = {}
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

    def _phrase(self, sequence: match.TokenSequence, is_wanted: bool) -> str:
        number = self._numbers.setdefault(sequence, len(self._numbers) + 1) if is_wanted else 0
        self._terms_of_phrases.append(number)
        # No token has a quote in it: those separate.
        return f'"{" ".join(sequence.tokens)}"' + (" *" if sequence.prefix else "")

    def ask(
        self,
        index: Connection,
        owner: int,
        batch: int,
        *,
        end: int | None = None,
        counting: bool = False,
    ) -> Iterator[list[Candidate]]:
        """Yield what is found among an owner's entries, in batches, the newest first.

        The numbers of all are below the end. The terms in each are counted when that is asked for.
        """
        first, end = owner << OWNER_BITS, end or (owner + 1) << OWNER_BITS
        while rows := self._page(index, (self.text, first, end, batch), counting):
            yield [Candidate(pos, tally and _counted(tally), number) for number, pos, tally in rows]
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

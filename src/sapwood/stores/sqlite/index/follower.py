"""What follows the change feed for the index: one batch at a time, each a transaction of the index.

How far it came is kept in the same transaction, so that a batch that was cut off is done again
whole, and two processes that index at once take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from ....rules.text import fold, segment
from ...relational.rows import HOME, KIND_APPEND, KIND_RECORD, KIND_RETIRE, KIND_UPDATE
from ..connection import Connection
from ..feed import KIND_COVER, KIND_REWRITE, KIND_UNCOVER
from ..inheritance import INDEXING
from ..lookup import HOMES_BELOW
from ..rows import MESSAGE_COLUMNS, text_in
from .file import (
    OWNER_BITS,
    Mark,
    database_number,
    newest_mark,
    put_state,
    read_place,
    read_state,
    refuse_if_cut,
)

BATCH = 500
SUMMARY_HOME = "o"

_ENTRIES_AT_ONCE = 200
_CHANGES = "SELECT seq, at, first, last, kind, owner FROM change WHERE seq > ? ORDER BY seq LIMIT ?"
_MESSAGES = (
    f"SELECT {MESSAGE_COLUMNS} FROM message m WHERE pos BETWEEN ? AND ? AND body IS NOT NULL"
    " ORDER BY pos"
)
_OVERLAY = "SELECT number, summary FROM overlay WHERE number BETWEEN ? AND ?"


class Follower:
    """Brings an index up to its database."""

    def __init__(self, index: Connection, main: Connection) -> None:
        self._index = index
        self._main = main

    def step(self, most: int = BATCH) -> bool:
        """Index a batch; return whether there may be more to do."""
        with INDEXING, self._index.transaction(), self._main.snapshot():
            place = read_place(self._index, self._main)
            more = self._scan(most) if place is None else self._follow(place.mark, most)
            refuse_if_cut(self._index)
            return more

    def _follow(self, mark: Mark, most: int) -> bool:
        """Take the next changes, at most so many messages of them, but one change at least."""
        changes = self._main.rows(_CHANGES, (mark.seq, most))
        touched: dict[int, list[tuple[int, int]]] = {}
        gone: list[tuple[int, int]] = []
        room, done = most, 0
        for seq, at, first, last, kind, owner in changes:
            room -= last - first + 1
            if room < 0 and done:
                break
            mark, done = Mark(seq, at, first), done + 1
            if kind in (KIND_RECORD, KIND_RETIRE):
                continue
            if kind in (KIND_COVER, KIND_UNCOVER):
                first, last = -last, -first
            gone.append((first, last))
            if kind in (KIND_APPEND, KIND_UPDATE, KIND_COVER, KIND_REWRITE):
                touched.setdefault(owner, []).append((first, last))
        entries = IndexedEntries(self._index)
        removed = [entries.remove(*span) for span in join_ranges(sorted(gone))]
        if any(removed):
            put_state(self._index, removed=mark.seq)
        for owner, ranges in touched.items():
            entries.add(self._texts(owner, ranges))
        if changes:
            put_state(self._index, **mark._asdict())
        return len(changes) == most or done < len(changes)

    def _texts(self, owner: int, ranges: list[tuple[int, int]]) -> Iterator[IndexedText]:
        """Yield what stands in ranges now, each once, in the order in which it came.

        A change of it that is yet to come will change it.
        """
        given: set[int] = set()
        for first, last in join_ranges(ranges):
            for text in self._texts_in(owner, first, last):
                if text.pos not in given:
                    given.add(text.pos)
                    yield text

    def _texts_in(self, owner: int, first: int, last: int) -> Iterator[IndexedText]:
        if first < 0:
            rows = self._main.rows(_OVERLAY, (-last, -first))
            return (summary_text(owner, number, said) for number, said in rows)
        cursor = self._main.raw.execute(_MESSAGES, (first, last))
        return (text_of(owner, row) for row in cursor)

    def _scan(self, most: int) -> bool:
        """Read the whole database, bit by bit; then go on from where it was at the beginning."""
        state = read_state(self._index)
        if "scanned" not in state or state.get("database") != database_number(self._main):
            self._begin()
            state = read_state(self._index)
        owners = Owners(self._main)
        entries = IndexedEntries(self._index)
        todo = self._index.rows(
            "SELECT number, pos FROM todo WHERE number > ? ORDER BY number LIMIT ?",
            (state["scanned"], most),
        )
        entries.add(self._texts_at([pos for _, pos in todo], owners))
        if len(todo) == most:
            put_state(self._index, scanned=todo[-1][0])
        else:
            entries.add(self._summaries(owners))
            self._end(state)
        return True

    def _texts_at(self, positions: list[int], owners: Owners) -> Iterator[IndexedText]:
        for pos in positions:
            for row in self._main.rows(_MESSAGES, (pos, pos)):
                owner = owners.of_home(row[HOME])
                if owner is not None:
                    yield text_of(owner, row)

    def _begin(self) -> None:
        mark = newest_mark(self._main)
        self._index.run("DELETE FROM state WHERE name <> 'removed'", ())
        if IndexedEntries(self._index).remove_all():
            put_state(self._index, removed=mark.seq)
        # By time, since what is found is given the newest first.
        self._index.run("DELETE FROM todo", ())
        self._index.run_many(
            "INSERT INTO todo (pos) VALUES (?)",
            self._main.raw.execute(
                "SELECT pos FROM message WHERE body IS NOT NULL ORDER BY created_at, pos"
            ),
        )
        put_state(
            self._index,
            database=database_number(self._main),
            made=self._index.value("SELECT random()"),
            scanned=0,
            **{f"from_{name}": value for name, value in mark._asdict().items()},
        )

    def _end(self, state: dict[str, int]) -> None:
        self._index.run("DELETE FROM todo", ())
        self._index.run("DELETE FROM state WHERE name NOT IN ('database', 'made', 'removed')", ())
        put_state(self._index, **{name: state[f"from_{name}"] for name in Mark._fields})

    def _summaries(self, owners: Owners) -> Iterator[IndexedText]:
        for number, tree, summary in self._main.rows("SELECT number, tree, summary FROM overlay"):
            owner = owners.of_tree(tree)
            if owner is not None:
                yield summary_text(owner, number, summary)


class IndexedText(NamedTuple):
    """Something to be found: whose it is, where it stands, what it says and where it was said."""

    owner: int
    pos: int
    said: str
    home: str


def home_token(home: int) -> str:
    """Return the token by which all that a session wrote is found."""
    return f"h{home}"


def text_of(owner: int, row: tuple[Any, ...]) -> IndexedText:
    """Return the text of a message's row; a damaged one has none."""
    pos, home, *_ = row
    return IndexedText(owner, pos, segment(fold(text_in(row) or "")), home_token(home))


def summary_text(owner: int, number: int, summary: str) -> IndexedText:
    """Return the text of an overlay."""
    return IndexedText(owner, -number, segment(fold(summary)), SUMMARY_HOME)


class IndexedEntries:
    """The entries of an open index, inside its transaction."""

    def __init__(self, index: Connection) -> None:
        self._index = index
        self._last: dict[int, int] = {}
        self._kept: dict[int, int] = {}

    def add(self, texts: Iterable[IndexedText]) -> None:
        """Add texts that are not in the index, with numbers that rise for each owner.

        What was removed just before gets its old number again: an edit makes nothing newer.
        """
        rest = iter(texts)
        while chunk := list(islice(rest, _ENTRIES_AT_ONCE)):
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


def join_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in the order that they have; those that touch the last as one with it."""
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and joined[-1][0] <= first <= joined[-1][1] + 1:
            begin, end = joined[-1]
            joined[-1] = begin, max(end, last)
        else:
            joined.append((first, last))
    return joined


class Owners:
    """Whose the messages are; of a session that is gone, whose the forks are that stand on it."""

    def __init__(self, main: Connection) -> None:
        self._main = main
        self._known: dict[int, int | None] = {}

    def of_home(self, home: int) -> int | None:
        """Return the owner of what a session wrote; None when nobody sees it any more."""
        if home not in self._known:
            self._known[home] = self._main.value(
                f"{HOMES_BELOW} SELECT owner FROM session WHERE home = ?1 UNION ALL"
                " SELECT s.owner FROM down JOIN session s ON s.home = down.home LIMIT 1",
                (home,),
            )
        return self._known[home]

    def of_tree(self, tree: int) -> int | None:
        """Return the owner of a tree."""
        owner: int | None = self._main.value(
            "SELECT owner FROM session WHERE tree = ? LIMIT 1", (tree,)
        )
        return owner

"""The work that is measured, and the order in which it is done and told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import compaction
import crowd
import reads
import turns
import writes
from bytes_written import WRITTEN, written
from comparison import Comparison
from contest import Contest

Measure = Callable[[Contest], Awaitable[Comparison | None]]
"""Gives a row, or None where a package is not compared in it."""

# What reads comes before what appends, so that it finds the conversation as it was built.
WORKS: dict[str, Measure] = {
    reads.LOAD: reads.load,
    reads.LOAD_AGAIN: reads.load_again,
    reads.LAST: reads.last,
    reads.SEARCH_RARE: reads.search_rare,
    reads.SEARCH_COMMON: reads.search_common,
    writes.APPEND_SHORT: writes.append_short,
    writes.APPEND_LONG: writes.append_long,
    writes.FORK: writes.fork,
    WRITTEN: written,
    compaction.TIME: compaction.time_taken,
    compaction.BYTES: compaction.bytes_written,
    turns.TURN: turns.turn,
    crowd.TO_ONE: crowd.to_one,
    crowd.TO_MANY: crowd.to_many,
}

# A package may hand out the objects that it made before: that is a cache, and no load.
NOT_JUDGED = {reads.LOAD_AGAIN}

TOLD = [
    writes.APPEND_SHORT,
    writes.APPEND_LONG,
    reads.LOAD,
    reads.LOAD_AGAIN,
    reads.LAST,
    writes.FORK,
    reads.SEARCH_RARE,
    reads.SEARCH_COMMON,
    WRITTEN,
    compaction.TIME,
    compaction.BYTES,
    turns.TURN,
    crowd.TO_ONE,
    crowd.TO_MANY,
]


def in_order(rows: list[Comparison]) -> list[Comparison]:
    """Put the rows of all packages in the order in which they are told."""
    return sorted(rows, key=lambda row: TOLD.index(row.work))

"""What entries cost: the tokens that are stored with them, or those of a counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..model import Entry
from ..rules.tokens import ask_counter

EntryCounter = Callable[[Entry], int]
"""Counts the tokens of one entry of a history."""


def entry_tokens(entry: Entry, counter: EntryCounter | None = None) -> int:
    """Return the tokens of an entry; the stored ones when there is no counter, or when it fails.

    The stored ones were counted by the session's own counter, so what starts a compaction and
    what decides its range count alike.
    """
    if counter is None:
        return entry.tokens
    tokens = ask_counter("entry", counter, entry, instead="the stored tokens are")
    return entry.tokens if tokens is None else tokens


def history_tokens(entries: Sequence[Entry], counter: EntryCounter | None = None) -> int:
    """Return the tokens of all entries together."""
    return sum(entry_tokens(entry, counter) for entry in entries)

"""Comparing what a session shows at its leaves, overlays applied, by reading both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...errors import NotFoundError
from ...model import Entry, EntryRef, Leaf, Message, Read, Summary
from ...store import Store
from ..new_records import is_for_a_gap
from .differences import DifferenceKind, Differences
from .sides import Sides

FIRST_PAGE = 32
PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
STRIDE = 16
"""One of so many messages is remembered, so that memory grows little with a session."""


def compare_shown(
    sides: Sides, name: str, leaves: Sequence[Leaf], differences: Differences
) -> None:
    """Compare what is shown at every leaf of the source, where the tree is the same."""
    known: set[EntryRef] = set()
    for leaf in leaves:
        here = _entries(sides.source, sides.owner, name, leaf.id)
        there = _entries(sides.target, sides.owner, name, leaf.id)
        try:
            what = _difference(here, there, known)
        except NotFoundError:
            what = "there is none"
        if what:
            differences.add(DifferenceKind.CHANGED, f"at the leaf {leaf.id!r} {what}")


def _difference(one: Iterator[Entry], other: Iterator[Entry], known: set[EntryRef]) -> str:
    """Return where two histories differ, from the leaf up to an entry that was met before.

    What is shown above an entry does not depend on the leaf.
    """
    while True:
        here, there = next(one, None), next(other, None)
        if _seen(here) != _seen(there):
            return f"{_in_words(there)} is shown, and in the source {_in_words(here)}"
        if here is None or EntryRef.of(here) in known:
            return ""
        if isinstance(here, Summary) or here.depth % STRIDE == 0:
            known.add(EntryRef.of(here))


def _entries(store: Store, owner: str, session: str, leaf: str) -> Iterator[Entry]:
    """Yield what is shown at a leaf, the last first, a page at a time."""
    before: int | None = None
    more, limit = True, FIRST_PAGE
    while more:
        query = Read(leaf=leaf, before=before, limit=limit, max_bytes=PAGE_BYTES, backwards=True)
        history = store.read(owner, session, query)
        yield from (it for it in reversed(history.entries) if not _is_to_go(it))
        more, limit = history.more, min(2 * limit, PAGE)
        if history.entries:
            first = history.entries[0]
            before = first.overlay.first.depth if isinstance(first, Summary) else first.depth


def _seen(entry: Entry | None) -> object:
    if entry is None:
        return None
    if isinstance(entry, Message):
        return entry.id
    pinned = [message.id for message in entry.pinned if not _is_to_go(message)]
    return entry.text, entry.overlay.tokens, pinned


def _is_to_go(entry: Entry) -> bool:
    """Whether something is shown only until all forks are copied."""
    return isinstance(entry, Message) and is_for_a_gap(entry)


def _in_words(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    return (
        f"message {entry.id!r}" if isinstance(entry, Message) else f"overlay {entry.overlay.id!r}"
    )

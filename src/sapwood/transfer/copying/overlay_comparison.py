"""Comparing overlays, matched by their ids or by what they say, and what is shown with them.

What a session shows at its leaves, overlays applied, is read on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from ...errors import NotFoundError
from ...model import Entry, EntryRef, Leaf, Message, Read, Summary
from ..lines import OverlayLine, is_for_a_gap
from ..named_session import NamedSession
from .differences import DifferenceKind, Differences, is_same
from .sides import Sides

FIRST_PAGE = 32
PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
STRIDE = 16
"""One of so many messages is remembered, so that memory grows little with a session."""
_content_of = attrgetter("first", "last", "summary", "tokens", "metadata")


class MatchedOverlays(NamedTuple):
    """What is left when the overlays that both sides have are put together."""

    missing: list[OverlayLine]
    changed: list[OverlayLine]
    """Those of the source that are on the target with other content."""
    extra: list[OverlayLine]
    renamed: dict[str, OverlayLine]
    """Those of the source that have another id on the target, by that id."""


def match_overlays(wanted: Sequence[OverlayLine], there: Sequence[OverlayLine]) -> MatchedOverlays:
    """Match overlays. Two forks may share one that their source has undone: it has another id."""
    left = {line.id: line for line in there}
    matched = MatchedOverlays([], [], [], {})
    for line in wanted:
        stored = left.pop(line.id, None)
        if stored is None:
            matched.missing.append(line)
        elif not _is_equal(line, stored):
            matched.changed.append(line)
    for line in list(matched.missing):
        twin = next((it for it in left.values() if _is_equal(line, it)), None)
        if twin is not None:
            del left[twin.id]
            matched.missing.remove(line)
            matched.renamed[twin.id] = line
    matched.extra.extend(left.values())
    return matched


def compare_overlays(
    wanted: Sequence[OverlayLine], there: Sequence[OverlayLine], differences: Differences
) -> None:
    """Compare overlays."""
    matched = match_overlays(wanted, there)
    for kind, lines, what in (
        (DifferenceKind.MISSING, matched.missing, "is missing"),
        (DifferenceKind.CHANGED, matched.changed, "is another"),
        (DifferenceKind.CHANGED, matched.extra, "is not in force in the source"),
    ):
        for line in lines:
            differences.add(kind, f"overlay {line.id!r} {what}")
    if not differences.count():
        _compare_order(wanted, there, matched, differences)


def _compare_order(
    wanted: Sequence[OverlayLine],
    there: Sequence[OverlayLine],
    matched: MatchedOverlays,
    differences: Differences,
) -> None:
    """See that those over the same range came one after the other as in the source."""
    ids = {id: line.id for id, line in matched.renamed.items()}
    here = _by_range(there)
    for ends, order in _by_range(wanted).items():
        if [ids.get(id, id) for id in here[ends]] != order:
            differences.add(
                DifferenceKind.CHANGED, f"overlay {order[-1]!r} is not the newest of its range"
            )


def _by_range(lines: Sequence[OverlayLine]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        found.setdefault((line.first, line.last), []).append(line.id)
    return found


def _is_equal(one: OverlayLine, other: OverlayLine) -> bool:
    return is_same(_content_of(one), _content_of(other))


def compare_shown(
    sides: Sides, name: str, leaves: Sequence[Leaf], differences: Differences
) -> None:
    """Compare what is shown at every leaf of the source, where the tree is the same."""
    known: set[EntryRef] = set()
    for leaf in leaves:
        try:
            what = _difference(
                _entries(sides.here(name), leaf.id), _entries(sides.there(name), leaf.id), known
            )
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


def _entries(session: NamedSession, leaf: str) -> Iterator[Entry]:
    """Yield what is shown at a leaf, the last first, a page at a time."""
    before: int | None = None
    more, limit = True, FIRST_PAGE
    while more:
        query = Read(leaf=leaf, before=before, limit=limit, max_bytes=PAGE_BYTES, backwards=True)
        history = session.store.read(session.owner, session.id, query)
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

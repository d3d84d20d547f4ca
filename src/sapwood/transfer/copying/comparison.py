"""Comparing a session and its overlays on both sides by reading both. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from ...errors import NotFoundError
from ...model import DataVersion, Entry, EntryRef, Leaf, Message, Read, SessionRecord, Summary
from ...model.session import RECORD_FIELDS
from ...rules.wording import counted
from ..export import SessionWalk, find_origin, tip_of
from ..lines import (
    CHUNK,
    MESSAGE_FIELDS,
    GapLine,
    MarkLine,
    MessageLine,
    OverlayLine,
    PlaceLine,
    SessionLine,
    is_for_a_gap,
)
from ..named_session import MessagesById, NamedSession, lasting_documents
from ..overlays import OverlayEnds
from .fingerprint import Fingerprint
from .sides import DifferenceKind, Differences, Sides, is_same
from .source import SessionSource
from .usage import compare_usage

OnMessages = Callable[[int], None]
DifferenceFound = tuple[DifferenceKind | None, str]

FIRST_ENTRIES = 32
MOST_ENTRIES = 500
PAGE_BYTES = 4 * 1024 * 1024
STRIDE = 16
"""One of so many messages is remembered, so that memory grows little with a session."""

_overlay_content = attrgetter("first", "last", "summary", "tokens", "metadata")


class Comparison:
    """Goes over a session once: what differs, and the fingerprint of what the target has."""

    def __init__(self, sides: Sides, source: SessionSource, record: SessionRecord) -> None:
        self._sides = sides
        self._source = source
        self._record = record
        self._stored = sides.there(record.id)
        self._own = 0
        self.fingerprint = Fingerprint()
        self.differences = Differences()
        self.kept: list[str] = []
        """The messages that stand where the source has gaps, and may for now."""

    def run(self, tick: OnMessages, *, is_ours: bool, is_fresh: bool) -> None:
        """Compare everything.

        In what is ours nobody has deleted anything, so that is not looked for. Only in what is
        fresh must branches come in the same order: later, a branch may have to begin anew.
        """
        target, owner, name = self._stored
        self._compare_record(self._source.line)
        self._compare_documents()
        overlays = target.list_overlays(owner, name)
        ends = OverlayEnds(self._stored, overlays)
        for chunk in self._source.chunks():
            self._compare_messages(chunk, ends, looks_for_deleted=not is_ours)
            tick(sum(isinstance(line, MessageLine) for line in chunk))
        self._find_extras()
        leaves = target.list_leaves(owner, name)
        self._compare_branches(leaves, is_fresh=is_fresh)
        there = list(ends.lines(leaves))
        compare_overlays(self._source.overlays, there, self.differences)
        if not self.differences.count() and there:
            compare_shown(self._sides, name, self._source.leaves, self.differences)
        usage = target.total_usage(owner, name, by="message")
        compare_usage(self._source.usage, usage, self.differences)
        self.fingerprint.add_rest(self._record, self._versions, overlays, usage)

    def _compare_record(self, line: SessionLine) -> None:
        record = self._record
        for field in RECORD_FIELDS:
            if not is_same(getattr(line, field), getattr(record, field)):
                self.differences.add(DifferenceKind.CHANGED, f"its {field} is another")
        if line.session_kind != record.kind:
            self.differences.add(DifferenceKind.APART, "it is of another kind")
        if line.created_us != record.created_us:
            self.differences.add(DifferenceKind.APART, "it was created at another time")
        if line.parent != record.parent and not self._sides.is_edge_lost(line):
            self.differences.add(DifferenceKind.APART, "it came out of another session")
        if line.tip != tip_of(record):
            self.differences.add(DifferenceKind.MISSING, f"its tip is not {line.tip!r}")

    def _compare_documents(self) -> None:
        wanted = self._source.documents
        there = {it.key: it for it in lasting_documents(*self._stored)}
        self._versions = {key: it.version for key, it in there.items()}
        for key, line in wanted.items():
            if key not in there:
                self.differences.add(DifferenceKind.MISSING, f"document {key!r} is missing")
            elif (there[key].value, there[key].inherit) != (line.value, line.inherit):
                self.differences.add(DifferenceKind.CHANGED, f"document {key!r} is another")
        for key in there.keys() - wanted.keys():
            self.differences.add(DifferenceKind.CHANGED, f"document {key!r} is not in the source")

    def _compare_messages(
        self, chunk: list[PlaceLine], ends: OverlayEnds, *, looks_for_deleted: bool
    ) -> None:
        lines = [line for line in chunk if isinstance(line, MessageLine)]
        gaps = [line for line in chunk if isinstance(line, GapLine)]
        found = self._stored.find_with_parents(lines) | self._stored.find([it.id for it in gaps])
        for line in chunk:
            message = found.get(line.id)
            if message is not None:
                ends.meet(message)
                if message.home == self._record.id:
                    self._own += 1
                    self.fingerprint.add_message(message)
            if isinstance(line, MarkLine):
                kind, what = self._mark_difference(line)
            elif isinstance(line, GapLine):
                kind, what = self._gap_difference(line, message)
            else:
                kind, what = self._difference(line, found, looks_for_deleted)
            if kind is not None:
                self.differences.add(kind, f"message {line.id!r} {what}")

    def _mark_difference(self, line: MarkLine) -> DifferenceFound:
        stored = self._stored.find_named(line.id)
        if stored is None:
            return DifferenceKind.MISSING, "is missing, a mark"
        is_equal = isinstance(stored, DataVersion) and stored.value == line.data
        return (None, "") if is_equal else (DifferenceKind.APART, "is a mark with other data")

    def _gap_difference(self, line: GapLine, message: Message | None) -> DifferenceFound:
        if message is None:
            if not self._stored.is_deleted(line.id):
                return DifferenceKind.MISSING, "has no place"
            data = self._stored.find_data(line.id) if line.data is not None else None
            is_equal = line.data == (None if data is None else data.value)
            return (None, "") if is_equal else (DifferenceKind.APART, "has other data")
        kind = DifferenceKind.CHANGED if message.home == self._record.id else DifferenceKind.APART
        if is_for_a_gap(message):
            if self._source.is_awaited(line):
                self.kept.append(line.id)
                return None, ""
            kind = DifferenceKind.MISSING
        return kind, "was deleted from the source"

    def _difference(
        self, line: MessageLine, found: MessagesById, looks_for_deleted: bool
    ) -> DifferenceFound:
        message = found.get(line.id)
        if message is None:
            if looks_for_deleted and self._stored.is_deleted(line.id):
                return DifferenceKind.APART, "was deleted there"
            return DifferenceKind.MISSING, "is missing"
        if not self._stored.follows(message, line, found):
            return DifferenceKind.APART, "follows another message"
        if message.created_us != line.created_us:
            return DifferenceKind.APART, "has another time"
        if self._stored.own_data(message) != line.data:
            return DifferenceKind.APART, "has other data"
        other = [
            name
            for name in MESSAGE_FIELDS
            if not is_same(getattr(message, name), getattr(line, name))
        ]
        return (DifferenceKind.CHANGED, f"has other {' and '.join(other)}") if other else (None, "")

    def _find_extras(self) -> None:
        # Read anew: what others append in the meantime was found, too.
        record = self._stored.find_record() or self._record
        own = self._own
        # A fork whose source is gone by now still inherits there what must be in its own lines.
        is_alone = self._source.line.fork is None and record.forked_at is not None
        if record.messages == own and not is_alone:
            return
        for message in _iter_extras(self._sides, record.id, with_inherited=is_alone):
            if message.home == record.id:
                own += 1
                self.fingerprint.add_message(message)
            self.differences.add(
                DifferenceKind.APART, f"message {message.id!r} is not in the source"
            )
        if own != record.messages:
            what = f"it counts {counted(record.messages, 'message')}, and {own} came up"
            self.differences.add(DifferenceKind.MISSING, what)

    def _compare_branches(self, leaves: list[Leaf], *, is_fresh: bool) -> None:
        fork, record = self._source.line.fork, self._record
        if fork and find_origin(self._stored, record, leaves, {fork.session}) != fork:
            what = f"it is no fork of {fork.session!r} at {fork.message!r}"
            self.differences.add(DifferenceKind.APART, what)
        if self.differences.count():
            return
        known = {leaf.id for leaf in self._source.leaves}
        for leaf in leaves:
            if leaf.message is None and leaf.id not in known:
                what = f"it ends at {leaf.id!r}, too, which is no end in the source"
                self.differences.add(DifferenceKind.APART, what)
        if not is_fresh:
            return
        ends = [_own_ends(side, record.id) for side in (self._source.leaves, leaves)]
        both = set(ends[0]) & set(ends[1])
        if len({tuple(id for id in side if id in both) for side in ends}) > 1:
            self.differences.add(DifferenceKind.APART, "its branches come in another order")


def _own_ends(leaves: list[Leaf], session: str) -> list[str]:
    return [it.id for it in leaves if it.message is not None and it.message.home == session]


def _iter_extras(sides: Sides, name: str, *, with_inherited: bool) -> Iterator[Message]:
    """Go over what the session wrote on the target; yield what its source never had."""
    here, there = sides.here(name), sides.there(name)
    walk = SessionWalk(there, skip_inherited=not with_inherited)
    steps = walk.steps(sides.target.list_leaves(sides.owner, name))
    messages = (step.place for step in steps if isinstance(step.place, Message))
    while chunk := list(islice(messages, CHUNK)):
        known = here.find([message.id for message in chunk])
        for message in chunk:
            if message.id not in known and not here.is_deleted(message.id):
                yield message


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
    return is_same(_overlay_content(one), _overlay_content(other))


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
    more, limit = True, FIRST_ENTRIES
    while more:
        query = Read(leaf=leaf, before=before, limit=limit, max_bytes=PAGE_BYTES, backwards=True)
        history = session.store.read(session.owner, session.id, query)
        yield from (it for it in reversed(history.entries) if not _is_to_go(it))
        more, limit = history.more, min(2 * limit, MOST_ENTRIES)
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

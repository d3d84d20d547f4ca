"""Comparing a session on both sides by reading both. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from ...model import Leaf, Message, SessionPatch, SessionRecord
from ..export import find_origin, tip_of
from ..lines import CHUNK, GapLine, MessageLine, PlaceLine, SessionLine, is_for_a_gap
from ..named_session import MessagesById, lasting_documents
from ..overlays import OverlayEnds
from ..walk import SessionWalk
from .differences import DifferenceKind, Differences, is_same
from .fingerprint import Fingerprint
from .overlay_comparison import compare_overlays, compare_shown
from .sides import Sides
from .source import SessionSource
from .usage import compare_usage

OnMessages = Callable[[int], None]
DifferenceFound = tuple[DifferenceKind | None, str]
RECORD_FIELDS = SessionPatch.__struct_fields__


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
        for key, value in wanted.items():
            if key not in there:
                self.differences.add(DifferenceKind.MISSING, f"document {key!r} is missing")
            elif there[key].value != value:
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
            if isinstance(line, GapLine):
                kind, what = self._gap_difference(line, message)
            else:
                kind, what = self._difference(line, found, looks_for_deleted)
            if kind is not None:
                self.differences.add(kind, f"message {line.id!r} {what}")

    def _gap_difference(self, line: GapLine, message: Message | None) -> DifferenceFound:
        if message is None:
            is_there = self._stored.is_deleted(line.id)
            return (None, "") if is_there else (DifferenceKind.MISSING, "has no place")
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
        fields = ("role", "parts", "metadata", "tokens")
        other = [
            name for name in fields if not is_same(getattr(message, name), getattr(line, name))
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
            what = f"it counts {record.messages} messages, and {own} were found"
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

"""Comparing a session on both sides by reading both. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable

from ...model import Leaf, Message, SessionPatch, SessionRecord
from ..export import tip_of
from ..lines import GapLine, MessageLine, PlaceLine, SessionLine
from ..new_records import is_for_a_gap
from ..origin import find_origin
from ..overlay_ends import OverlayEnds
from ..stored_messages import MessagesById, StoredMessages
from .differences import DifferenceKind, Differences, is_same
from .edges import is_edge_lost
from .extra_messages import iter_extras
from .fingerprint import Fingerprint
from .history_comparison import compare_shown
from .overlay_comparison import compare_overlays
from .sides import Sides
from .source import SessionSource
from .usage import compare_usage

OnMessages = Callable[[int], None]


class Comparison:
    """Goes over a session once: what differs, and the fingerprint of what the target has."""

    def __init__(self, sides: Sides, source: SessionSource, record: SessionRecord) -> None:
        self._sides = sides
        self._source = source
        self._record = record
        self._stored = StoredMessages(sides.target, sides.owner, record.id)
        self._own = 0
        self._print = Fingerprint()
        self.differences = Differences()
        self.kept: list[str] = []
        """The messages that stand where the source has gaps, and may for now."""

    @property
    def fingerprint(self) -> str:
        """Stands for what the target has."""
        return str(self._print)

    def run(self, tick: OnMessages, *, is_ours: bool, is_fresh: bool) -> None:
        """Compare everything.

        In what is ours nobody has deleted anything, so that is not looked for. Only in what is
        fresh must branches come in the same order: later, a branch may have to begin anew.
        """
        name, target, owner = self._record.id, self._sides.target, self._sides.owner
        self._compare_record(self._source.line)
        self._compare_documents()
        overlays = target.list_overlays(owner, name)
        ends = OverlayEnds(target, owner, name, overlays)
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
        self._print.add_rest(self._record, self._versions, overlays, usage)

    def _compare_record(self, line: SessionLine) -> None:
        record = self._record
        for field in SessionPatch.__struct_fields__:
            if not is_same(getattr(line, field), getattr(record, field)):
                self.differences.add(DifferenceKind.CHANGED, f"its {field} is another")
        if line.created_us != record.created_us:
            self.differences.add(DifferenceKind.APART, "it was created at another time")
        if line.parent != record.parent and not is_edge_lost(self._sides, line):
            self.differences.add(DifferenceKind.APART, "it came out of another session")
        if line.tip != tip_of(record):
            self.differences.add(DifferenceKind.MISSING, f"its tip is not {line.tip!r}")

    def _compare_documents(self) -> None:
        wanted = self._source.documents
        there = {
            it.key: it
            for it in self._sides.target.list_documents(self._sides.owner, session=self._record.id)
            if it.expires_us is None
        }
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
                    self._print.add_message(message)
            if isinstance(line, GapLine):
                kind, what = self._gap_difference(line, message)
            else:
                kind, what = self._difference(line, found, looks_for_deleted)
            if kind is not None:
                self.differences.add(kind, f"message {line.id!r} {what}")

    def _gap_difference(
        self, line: GapLine, message: Message | None
    ) -> tuple[DifferenceKind | None, str]:
        if message is None:
            is_there = self._stored.is_deleted(line.id)
            return (None, "") if is_there else (DifferenceKind.MISSING, "has no place")
        if self._source.is_awaited(line) and is_for_a_gap(message):
            self.kept.append(line.id)
            return None, ""
        if is_for_a_gap(message):
            return DifferenceKind.MISSING, "was deleted from the source"
        kind = DifferenceKind.CHANGED if message.home == self._record.id else DifferenceKind.APART
        return kind, "was deleted from the source"

    def _difference(
        self, line: MessageLine, found: MessagesById, looks_for_deleted: bool
    ) -> tuple[DifferenceKind | None, str]:
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
        record = self._sides.target.find_session(self._sides.owner, self._record.id) or self._record
        own = self._own
        # A fork whose source is gone by now still inherits there what must be in its own lines.
        is_alone = self._source.line.fork is None and record.forked_at is not None
        if record.messages == own and not is_alone:
            return
        for message in iter_extras(self._sides, record.id, with_inherited=is_alone):
            if message.home == record.id:
                own += 1
                self._print.add_message(message)
            self.differences.add(
                DifferenceKind.APART, f"message {message.id!r} is not in the source"
            )
        if own != record.messages:
            what = f"it counts {record.messages} messages, and {own} were found"
            self.differences.add(DifferenceKind.MISSING, what)

    def _compare_branches(self, leaves: list[Leaf], *, is_fresh: bool) -> None:
        fork, record = self._source.line.fork, self._record
        if fork is not None and self._origin_there(leaves) != fork:
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

    def _origin_there(self, leaves: list[Leaf]) -> object:
        fork = self._source.line.fork
        assert fork is not None
        sides = self._sides
        return find_origin(sides.target, sides.owner, self._record, leaves, {fork.session})


def _own_ends(leaves: list[Leaf], session: str) -> list[str]:
    return [it.id for it in leaves if it.message is not None and it.message.home == session]

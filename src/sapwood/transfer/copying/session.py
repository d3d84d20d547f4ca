"""Copying one session: compare, refuse or write what is missing, until both sides are equal."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

import msgspec

from ...errors import AlreadyExistsError, ConflictError, NotFoundError, StoreCorruptError
from ...model import ROOT, Edge, Message, Position, SessionPatch, SessionRecord, SystemPatch
from ...model.session import RECORD_FIELDS
from ..export import tip_of
from ..import_marks import ImportMark, drop_mark, find_mark, mark_of, put_mark
from ..lines import (
    CHUNK,
    MESSAGE_FIELDS,
    GapLine,
    MarkLine,
    MessageLine,
    PlaceLine,
    SessionLine,
    is_for_a_gap,
    last_patch,
    made_of,
    new_place,
    new_session,
    runs_of,
)
from ..named_session import MessagesById, lasting_documents
from ..overlays import OverlayEnds, OverlayPutter
from .comparison import Comparison, OnMessages, match_overlays
from .events import CopyStatus
from .fingerprint import find_fingerprint, put_fingerprint
from .sides import DifferenceKind, Sides, is_same
from .source import SessionSource
from .usage import add_missing_usage

OnProgress = Callable[[int, int], None]
"""Takes how many messages were gone over to be written, and how many were verified."""

MOST_ROUNDS = 5


class SessionCopy:
    """One session on its way to the target."""

    def __init__(
        self,
        sides: Sides,
        name: str,
        names: set[str],
        failed: set[str],
        awaited: Container[Position] = (),
    ) -> None:
        self._sides = sides
        self._here, self._there = sides.here(name), sides.there(name)
        self._name = name
        self._names = names
        self._failed = failed
        self._awaited = awaited
        self._mark: ImportMark | None = None
        self._is_new = False
        self._strikes = 0
        """How often the target differed though the source had stayed as it was written."""
        self.messages = 0
        self.written = 0
        self.kept: list[str] = []
        """The messages that stand in gaps until the overlays of forks are put there."""
        self.notes: list[str] = []

    def run(self, ticks: OnProgress) -> CopyStatus:
        """Copy it; return what became of it.

        Raises `ConflictError` when others wrote to it on the target, before anything of it is
        written, or when its source changes faster than it is copied, and `StoreCorruptError` when
        the target has something else than what was written to it.
        """
        before, missed = "", None
        for number in range(MOST_ROUNDS):
            try:
                digest = self._round(before, ticks, is_first=number == 0)
            except NotFoundError as error:
                if self._here.find_record() is None:
                    self.forget()
                    return "gone"
                # A branch went while it was read; then the next round finds it so.
                missed = error
                continue
            if digest is None:
                return "copied" if self._is_new else "equal" if number == 0 else "updated"
            before, missed = digest, None
        why = "changes faster than it is copied" if missed is None else f"lacks something: {missed}"
        raise ConflictError(f"the session {why}; copy it again later") from missed

    def _round(self, before: str, ticks: OnProgress, *, is_first: bool) -> str | None:
        """Compare and write; return the digest of what was written, None if nothing had to be."""
        record = self._there.find_record()
        if record is not None:
            source = self._read()
            # A copy that did not end has left it so.
            self._mark = self._mark or find_mark(self._sides.target, self._sides.owner, record)
            is_ours = self._mark is not None
            found = Comparison(self._sides, source, record)
            found.run(
                lambda count: ticks(count if is_first else 0, count),
                is_ours=is_ours,
                is_fresh=self._mark is not None and self._mark.is_new,
            )
            self.messages, self.kept = source.messages, found.kept
            if not found.differences.count():
                self._finish(str(found.fingerprint))
                return None
            if source.digest == before:
                self._strikes += 1
                # Once, it may be another copy that is at the same session.
                if self._strikes > 1:
                    what = found.differences.describe()
                    raise StoreCorruptError(f"the copy is not equal to its source: {what}")
            self._refuse(found, is_ours=is_ours)
            ticks(-source.messages if is_first else 0, -source.messages)
        return self._write(record, ticks)

    def _read(self) -> SessionSource:
        source = SessionSource(self._sides, self._name, self._names, self._awaited)
        fork = source.line.fork
        # What it inherits is compared as its source's.
        if fork is not None and fork.session in self._failed:
            raise ConflictError(f"it is a fork of {fork.session!r}, which was not copied")
        return source

    def _refuse(self, found: Comparison, *, is_ours: bool) -> None:
        kinds = [DifferenceKind.APART]
        has_changed = found.differences.count(DifferenceKind.CHANGED) and not is_ours
        if has_changed and find_fingerprint(self._there) != str(found.fingerprint):
            kinds.append(DifferenceKind.CHANGED)
        if found.differences.count(*kinds):
            written = "" if self.written else "nothing of it was written, "
            raise ConflictError(f"{written}the target differs: {found.differences.describe(kinds)}")

    def _write(self, record: SessionRecord | None, ticks: OnProgress) -> str:
        sides, source = self._sides, self._read()
        edge = self._edge(source.line) if record is None else None
        if self._mark is None:
            self._mark = mark_of(source.line, record)
            put_mark(sides.target, sides.owner, self._mark)
        updater = SessionUpdater(sides, source, is_begun=self._mark.is_new)
        try:
            if record is None:
                new = new_session(source.line, edge)
                record, self._is_new = sides.target.create_session(sides.owner, new), True
                lost = source.line.parent if edge is None else None
                if lost:
                    what = f"came out of {lost.session!r}, which is not there"
                    self._add_notes([f"session {self._name!r}: {what}"])
        except AlreadyExistsError:
            # Somebody else has created it: in the next round it is compared like those that were
            # there before. The mark is taken back, unless the other is a copy, too.
            self._mark, record = None, self._there.find_record()
            if record is not None and record.created_us != source.line.created_us:
                drop_mark(*self._there)
            return ""
        try:
            updater.run(record, lambda count: ticks(count, 0))
        finally:
            self.written += updater.written
            self._add_notes(updater.notes)
        return source.digest

    def _edge(self, line: SessionLine) -> Edge | None:
        """Return the link to its parent that it can be created with; None for one that is lost.

        A store takes only one that is there when the session is created. Raises `ConflictError`
        when its parent could be there and is not: it is set only once.
        """
        edge = line.parent
        if edge is None or self._sides.there(edge.session).find_record() is not None:
            return edge
        if not self._sides.is_edge_lost(line):
            raise ConflictError(f"it came out of {edge.session!r}, which was not copied")
        return None

    def _finish(self, fingerprint: str) -> None:
        """Note that both sides are equal, and let the next copy know what is here."""
        if find_fingerprint(self._there) != fingerprint:
            put_fingerprint(self._there, fingerprint)
        if self._mark is not None:
            drop_mark(*self._there)

    def add(self, later: SessionCopy) -> None:
        """Count what a later pass over the same session did as this one's."""
        self.written += later.written
        self._add_notes(later.notes)

    def _add_notes(self, notes: Iterable[str]) -> None:
        self.notes += [it for it in notes if it not in self.notes]

    def forget(self) -> None:
        """Delete a session that this copy created and cannot finish."""
        if self._is_new and self._there.find_record() is not None:
            self._sides.target.delete_session(self._sides.owner, self._name)
        if self._is_new and self._mark is not None:
            drop_mark(*self._there)
        self.written = 0 if self._is_new else self.written


class SessionUpdater:
    """Writes one session. Every write can be done again, so that it may be killed anywhere."""

    def __init__(self, sides: Sides, source: SessionSource, *, is_begun: bool) -> None:
        self._is_begun = is_begun
        """All that the session has comes from copies, or from the session that it is a fork of."""
        self._source = source
        self._stored = sides.there(source.line.id)
        self._store, self._owner, self._name = self._stored
        self._doomed: dict[str, list[str]] = {}
        """What stands on the target where the source has gaps, by the session that wrote it."""
        self.written = 0
        self.notes: list[str] = []

    def run(self, record: SessionRecord, tick: OnMessages) -> None:
        """Write what the source has otherwise."""
        self._follow_record(record, self._source.line)
        self._follow_documents()
        for chunk in self._source.chunks():
            self._follow_messages(chunk)
            tick(sum(isinstance(line, MessageLine) for line in chunk))
        self._follow_overlays()
        self._delete_doomed()
        add_missing_usage(self._stored, self._source.usage)
        self._follow_tip()
        there = self._stored.find_record()
        patch = None if there is None else last_patch(self._source.line, there)
        if patch is not None:
            self._store.update_session(self._owner, self._name, patch)

    def _follow_record(self, record: SessionRecord, line: SessionLine) -> None:
        """Follow the record, all but that it is closed: it is open while it is written to."""
        pairs = {name: (getattr(line, name), getattr(record, name)) for name in RECORD_FIELDS}
        pairs["closed"] = (False, record.closed)
        changed = {
            name: wanted for name, (wanted, had) in pairs.items() if not is_same(wanted, had)
        }
        if "system" in changed:
            changed["system"] = made_of(SystemPatch, line.system)
        if changed:
            self._store.update_session(self._owner, self._name, SessionPatch(**changed))

    def _follow_documents(self) -> None:
        store, owner, name = self._stored
        there = {it.key: (it.value, it.inherit) for it in lasting_documents(*self._stored)}
        for key, line in self._source.documents.items():
            if there.get(key) != (line.value, line.inherit):
                store.put_document(owner, key, line.value, session=name, inherit=line.inherit)
        for key in there.keys() - self._source.documents.keys():
            store.delete_document(owner, key, session=name)

    def _follow_messages(self, chunk: list[PlaceLine]) -> None:
        """Append a run of each other's children at a time, and edit what was edited."""
        found = self._stored.find([line.id for line in chunk])
        for run in runs_of(line for line in chunk if not self._is_there(line, found)):
            done = run.append_to(self._store, self._owner, self._name)
            self.written += run.count(done.written)

    def _is_there(self, line: PlaceLine, found: MessagesById) -> bool:
        """Whether a line's place is there; what is there follows the line."""
        message = found.get(line.id)
        if isinstance(line, MarkLine):
            return self._stored.find_data(line.id) is not None
        if isinstance(line, GapLine):
            return self._is_gap_there(line, message)
        if message is None:
            return False
        if not all(is_same(getattr(line, it), getattr(message, it)) for it in MESSAGE_FIELDS):
            self._update(line)
        return True

    def _is_gap_there(self, line: GapLine, message: Message | None) -> bool:
        if message is None and self._stored.is_deleted(line.id):
            return True
        if not self._source.is_awaited(line):
            home = message.home if message is not None else None
            self._doomed.setdefault(home or self._name, []).append(line.id)
        elif message is not None and not is_for_a_gap(message):
            self._update(line)
        return message is not None

    def _update(self, line: MessageLine | GapLine) -> None:
        # An update keeps the time.
        changed = msgspec.structs.replace(new_place(line), created_us=None)
        self._store.update_message(self._owner, self._name, changed)

    def _delete_doomed(self) -> None:
        store, owner, _ = self._stored
        for home, doomed in self._doomed.items():
            # What a copy held open may be another's, which the source does not have any more.
            name = self._name if store.find_session(owner, home) is None else home
            for start in range(0, len(doomed), CHUNK):
                store.delete_messages(owner, name, doomed[start : start + CHUNK])

    def _follow_overlays(self) -> None:
        store, owner, name = self._stored
        overlays = store.list_overlays(owner, name)
        ends = OverlayEnds(self._stored, overlays)
        there = list(ends.lines(store.list_leaves(owner, name))) if overlays else []
        matched = match_overlays(self._source.overlays, there)
        # A fork begins with the overlays of its source: one that says the same is not yet its own.
        renamed = matched.renamed if self._is_begun else {}
        for id in (*renamed, *(it.id for it in (*matched.extra, *matched.changed))):
            store.undo_overlay(owner, name, id)
        OverlayPutter(self._stored, self._source.overlays, self.notes).put_all()

    def _follow_tip(self) -> None:
        gone = f"the session {self._name!r} was deleted from the target meanwhile: copy again"
        if tip_of(self._stored.get_record(gone)) != self._source.line.tip:
            self._store.checkout(self._owner, self._name, self._source.line.tip or ROOT)

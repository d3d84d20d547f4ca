"""Making a session on the target like its source: what is missing is added, the rest follows."""

from __future__ import annotations

import msgspec

from ...model import ROOT, Message, SessionPatch, SessionRecord
from ..export import tip_of
from ..lines import (
    CHUNK,
    GapLine,
    MessageLine,
    PlaceLine,
    SessionLine,
    count_messages,
    is_for_a_gap,
    new_place,
    runs_of,
)
from ..named_session import MessagesById, lasting_documents
from ..overlays import OverlayEnds, OverlayPutter
from .comparison import RECORD_FIELDS, OnMessages
from .differences import is_same
from .overlay_comparison import match_overlays
from .sides import Sides
from .source import SessionSource
from .usage import add_missing_usage


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

    def _follow_record(self, record: SessionRecord, line: SessionLine) -> None:
        pairs = {name: (getattr(line, name), getattr(record, name)) for name in RECORD_FIELDS}
        changed = {
            name: wanted for name, (wanted, had) in pairs.items() if not is_same(wanted, had)
        }
        if changed:
            self._store.update_session(self._owner, self._name, SessionPatch(**changed))

    def _follow_documents(self) -> None:
        store, owner, name = self._stored
        there = {it.key: it.value for it in lasting_documents(*self._stored)}
        for key, value in self._source.documents.items():
            if there.get(key) != value:
                store.put_document(owner, key, value, session=name)
        for key in there.keys() - self._source.documents.keys():
            store.delete_document(owner, key, session=name)

    def _follow_messages(self, chunk: list[PlaceLine]) -> None:
        """Append a run of each other's children at a time, and edit what was edited."""
        found = self._stored.find([line.id for line in chunk])
        for parent, run in runs_of(line for line in chunk if not self._is_there(line, found)):
            done = self._store.append(self._owner, self._name, run, parent=parent or ROOT)
            self.written += count_messages(run, done.written)

    def _is_there(self, line: PlaceLine, found: MessagesById) -> bool:
        """Whether a line's place is there; what is there follows the line."""
        message = found.get(line.id)
        if isinstance(line, GapLine):
            return self._is_gap_there(line, message)
        if message is None:
            return False
        wanted = (line.role, line.parts, line.metadata, line.tokens)
        here = (message.role, message.parts, message.metadata, message.tokens)
        if not is_same(wanted, here):
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

    def _update(self, line: PlaceLine) -> None:
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

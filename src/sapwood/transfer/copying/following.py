"""Making a session on the target like its source: what is missing is added, the rest follows."""

from __future__ import annotations

from ...errors import NotFoundError
from ...model import ROOT, NewMessage, SessionPatch, SessionRecord
from ..adding import add_overlay
from ..covering import Ends
from ..export import live_tip
from ..lines import MessageLine, SessionLine
from ..making import new_message, new_session
from ..plan import CHUNK
from ..stored import Stored
from .comparing import Tick
from .covers import match_overlays
from .differences import is_same
from .edges import edge_for
from .extras import iter_extras
from .sides import Sides
from .source import SessionSource
from .usage import add_missing_usage


class Follower:
    """Writes one session. Every write can be done again, so that it may be killed anywhere."""

    def __init__(self, sides: Sides, source: SessionSource, *, is_begun: bool) -> None:
        self._sides = sides
        self._is_begun = is_begun
        """All that the session has comes from copies, or from the session that it is a fork of."""
        self._source = source
        self._name = source.line.id
        self._stored = Stored(sides.target, sides.owner, self._name)
        self._own = 0
        self.written = 0
        self.left_out: set[str] = set()
        """Overlays of the source that do not fit any more where they would have to be added."""
        self.notes: list[str] = []

    def create(self) -> SessionRecord:
        """Create the session, as a fork if it is one."""
        line = self._source.line
        edge = edge_for(self._sides, line, self.notes)
        return self._sides.target.create_session(self._sides.owner, new_session(line, edge))

    def run(self, record: SessionRecord, tick: Tick) -> None:
        """Write what the source has otherwise."""
        self._follow_record(record, self._source.line)
        self._follow_documents()
        for chunk in self._source.chunks():
            self._follow_messages(chunk)
            tick(len(chunk))
        self._delete_extras()
        self._follow_overlays()
        sides = self._sides
        add_missing_usage(sides.target, sides.owner, self._name, self._source.usage)
        self._follow_tip()

    def _follow_record(self, record: SessionRecord, line: SessionLine) -> None:
        fields = ("title", "state", "tags", "data", "budget")
        changed = [it for it in fields if not is_same(getattr(line, it), getattr(record, it))]
        if changed:
            patch = SessionPatch(**{name: getattr(line, name) for name in changed})
            self._sides.target.update_session(self._sides.owner, self._name, patch)

    def _follow_documents(self) -> None:
        store, owner, name = self._sides.target, self._sides.owner, self._name
        there = {
            it.key: it.value
            for it in store.list_documents(owner, session=name)
            if it.expires_us is None
        }
        for key, value in self._source.documents.items():
            if there.get(key) != value:
                store.put_document(owner, key, value, session=name)
        for key in there.keys() - self._source.documents.keys():
            store.delete_document(owner, key, session=name)

    def _follow_messages(self, chunk: list[MessageLine]) -> None:
        """Append a run of each other's children at a time, and edit what was edited."""
        found = self._stored.find([line.id for line in chunk])
        run: list[NewMessage] = []
        parent: str | None = None
        for line in chunk:
            message = found.get(line.id)
            if message is not None:
                self._own += message.home == self._name
                wanted = (line.role, line.parts, line.metadata, line.tokens)
                here = (message.role, message.parts, message.metadata, message.tokens)
                if not is_same(wanted, here):
                    self._update(line)
                continue
            if run and line.parent != run[-1].id:
                self._append(run, parent)
                run = []
            if not run:
                parent = line.parent
            run.append(new_message(line))
        self._append(run, parent)

    def _update(self, line: MessageLine) -> None:
        message = NewMessage(
            id=line.id, role=line.role, parts=line.parts, metadata=line.metadata, tokens=line.tokens
        )
        self._sides.target.update_message(self._sides.owner, self._name, message)

    def _append(self, run: list[NewMessage], parent: str | None) -> None:
        if run:
            place = ROOT if parent is None else parent
            done = self._sides.target.append(self._sides.owner, self._name, run, parent=place)
            self.written += done.written

    def _delete_extras(self) -> None:
        record = self._sides.target.find_session(self._sides.owner, self._name)
        if record is None or record.messages == self._own + self.written:
            return
        gone = [it.message.id for it in iter_extras(self._sides, self._name) if it.was_deleted]
        for start in range(0, len(gone), CHUNK):
            ids = gone[start : start + CHUNK]
            self._sides.target.delete_messages(self._sides.owner, self._name, ids)

    def _follow_overlays(self) -> None:
        store, owner, name = self._sides.target, self._sides.owner, self._name
        overlays = store.list_overlays(owner, name)
        lost: list[str] = []
        ends = Ends(store, owner, name, overlays)
        there = list(ends.lines(store.list_leaves(owner, name), lost)) if overlays else []
        matched = match_overlays(self._source.overlays, there)
        # A fork begins with the overlays of its source: one that says the same is not yet its own.
        renamed = matched.renamed if self._is_begun else {}
        for id in (*lost, *renamed, *(it.id for it in (*matched.extra, *matched.changed))):
            store.undo_overlay(owner, name, id)
        wanted = {it.id for it in (*matched.missing, *matched.changed, *renamed.values())}
        for line in self._source.overlays:
            if line.id in wanted and not add_overlay(store, owner, name, line, self.notes):
                self.left_out.add(line.id)

    def _follow_tip(self) -> None:
        store, owner = self._sides.target, self._sides.owner
        record = store.find_session(owner, self._name)
        if record is None:
            raise NotFoundError(
                f"the session {self._name!r} was deleted from the target meanwhile: copy again",
                kind="session",
                id=self._name,
            )
        if live_tip(store, owner, record) != self._source.line.tip:
            store.checkout(owner, self._name, self._source.line.tip or ROOT)

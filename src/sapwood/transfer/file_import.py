"""The second pass of an import: write what is not there yet.

An append is idempotent by id, so that an import which was cut short can be run again. A session
that this run created and did not finish is deleted again, if nobody else has written to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import BinaryIO

from ..errors import (
    AlreadyExistsError,
    NotFoundError,
    SapwoodError,
    StaleVersionError,
)
from ..model import Edge, Root, SessionRecord
from ..store import Store
from .file_check import ImportPlan, SessionPlan, check_file
from .import_marks import drop_mark, mark_of, put_mark
from .lines import (
    CHUNK,
    CHUNK_BYTES,
    DocumentLine,
    GapLine,
    MarkLine,
    MessageLine,
    OverlayLine,
    PlaceLine,
    Run,
    SessionLine,
    UsageLine,
    is_for_a_gap,
    iter_lines,
    last_patch,
    new_session,
    new_usage,
    runs_of,
)
from .named_session import NamedSession
from .overlays import OverlayPutter
from .session_writer import SessionWriter

OnImported = Callable[[int], None]

MOST_TRIES = 10


@dataclass
class Imported:
    """What was written, what was there, and what could not be carried over."""

    created: list[str] = field(default_factory=list)
    existing: list[str] = field(default_factory=list)
    written: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)


class _AppearedError(Exception):
    """Somebody created a session since the first pass."""


def import_file(
    store: Store, owner: str, file: BinaryIO, progress: OnImported = lambda position: None
) -> Imported:
    """Read sessions from a file that can be read twice.

    Messages that are stored already, and equal, are skipped; anything that differs is a
    `ConflictError` before anything is written. `progress` is called now and then, and between
    writes, with the bytes read so far in both passes; what it raises ends the import there. An
    exception that leaves a session incomplete has a note that says so.
    """
    done = Imported()
    for _ in range(MOST_TRIES):
        # A session that others create meanwhile is compared like those that were there before.
        with contextlib.suppress(_AppearedError):
            _import(store, owner, file, progress, done)
            return done
    raise AlreadyExistsError("sessions of the file are created and deleted meanwhile: try again")


def _import(store: Store, owner: str, file: BinaryIO, progress: OnImported, done: Imported) -> None:
    plan = check_file(store, owner, file, lambda: progress(file.tell()))
    size = file.tell()
    loader = _FileImport(store, owner, plan, done, lambda: progress(size + file.tell()))
    try:
        for it in iter_lines(file):
            loader.take(it.line, it.size)
        loader.finish()
    except BaseException as error:
        loader.abandon(error)
        raise


class _FileImport:
    """Goes over the lines, and writes what they say."""

    def __init__(
        self,
        store: Store,
        owner: str,
        plan: ImportPlan,
        done: Imported,
        progress: Callable[[], None],
    ) -> None:
        self._store = store
        self._owner = owner
        self._plan = plan
        self._progress = progress
        self._line: SessionLine | None = None
        self._now = SessionPlan(exists=True)
        self._session = NamedSession(store, owner, "")
        self._writer: SessionWriter | None = None
        self._is_marked = False
        self._marked: str | Root | None = None
        """The tip that the mark tells."""
        self._batch: list[PlaceLine] = []
        self._size = 0
        self._overlays: list[OverlayLine] = []
        self._gaps: dict[str, list[str]] = {}
        """By session, what was appended in the place of gaps, and is deleted in the end."""
        self.done = done

    def take(self, line: object, size: int) -> None:
        """Write a line, or keep it for the next batch."""
        if isinstance(line, MessageLine | GapLine | MarkLine):
            self._batch.append(line)
            self._size += size
            if len(self._batch) >= CHUNK or self._size >= CHUNK_BYTES:
                self._flush()
            return
        self._flush()
        if isinstance(line, SessionLine):
            self._end_session()
            self._begin_session(line)
        elif isinstance(line, DocumentLine):
            self._put_document(line, None if self._line is None else self._line.id)
        elif isinstance(line, OverlayLine):
            self._overlays.append(line)
        elif isinstance(line, UsageLine):
            self._add_usage(line)

    def _put_document(self, line: DocumentLine, session: str | None) -> None:
        """Put a document; one that was there before the import stays as it is."""
        is_ours = session is not None and self._now.is_ours
        version = None if is_ours else 0
        try:
            self._store.put_document(
                self._owner,
                line.key,
                line.value,
                session=session,
                expected_version=version,
                inherit=line.inherit,
            )
        except StaleVersionError:
            stored = self._store.find_document(self._owner, line.key, session=session)
            wanted = (line.value, line.inherit)
            if stored is None or (stored.value, stored.inherit) != wanted:
                whose = f"session {session!r}" if session else f"owner {self._owner!r}"
                self.done.notes.append(f"{whose}: kept the document {line.key!r} that was there")

    def _add_usage(self, line: UsageLine) -> None:
        """Add a model's sum, unless the session has usage of that model.

        A sum cannot be told apart from what it sums: none is added to what was there.
        """
        totals = self._store.total_usage(self._owner, self._session.id)
        if all(it.model != line.model for it in totals):
            self._store.add_usage(self._owner, self._session.id, new_usage(line))

    def _begin_session(self, line: SessionLine) -> None:
        self._now = self._plan.sessions[line.id]
        self._is_marked, self._marked = self._now.has_mark, None
        if not self._now.exists:
            self._create(line)
        elif line.id not in self.done.created:
            self.done.existing.append(line.id)
        self._line = line
        self._session = self._session._replace(id=line.id)
        self._writer = SessionWriter(self._session, self._now)
        if line.fork is not None and self._now.is_ours:
            self._undo_others()

    def _undo_others(self) -> None:
        """Take away what a new fork got from its source and did not have where it comes from."""
        store, owner, name = self._session
        for overlay in store.list_overlays(owner, name):
            if overlay.id not in self._now.overlays:
                # Another import may be at the same.
                with contextlib.suppress(NotFoundError):
                    store.undo_overlay(owner, name, overlay.id)
        for document in store.list_documents(owner, session=name):
            if document.key not in self._now.documents:
                store.delete_document(owner, document.key, session=name)

    def _create(self, line: SessionLine) -> None:
        if line.fork is not None or line.closed:
            # A fork begins with more than it may have had where it comes from, and a session is
            # closed last of all.
            self._mark(line, None)
        try:
            self._store.create_session(self._owner, new_session(line, self._edge(line)))
        except AlreadyExistsError as error:
            raise _AppearedError from error
        self.done.created.append(line.id)

    def _mark(self, line: SessionLine, record: SessionRecord | None) -> None:
        put_mark(self._store, self._owner, mark_of(line, record))
        self._is_marked = True

    def _edge(self, line: SessionLine) -> Edge | None:
        """Return the edge to the parent, if it is here: a store refuses one that leads nowhere."""
        edge = line.parent
        if edge is None or self._store.find_session(self._owner, edge.session) is not None:
            return edge
        self.done.notes.append(
            f"session {line.id!r}: came out of {edge.session!r}, which is not here"
        )
        return None

    def _flush(self) -> None:
        """Append the messages that have gathered, a run of each other's children at a time."""
        batch, self._batch, self._size = self._batch, [], 0
        if not batch:
            return
        known = self._known(batch) if self._now.exists else set()
        name = self._session.id
        if name not in self.done.created:
            self.done.skipped += sum(isinstance(it, MessageLine) for it in batch if it.id in known)
        for run in runs_of(line for line in batch if line.id not in known):
            self._append(run)
        # They were appended by this run, or by one that was cut off.
        found = self._session.find([it.id for it in batch if isinstance(it, GapLine)]).values()
        gaps = [it.id for it in found if it.home == name and is_for_a_gap(it)]
        if gaps:
            self._gaps.setdefault(name, []).extend(gaps)
        self._progress()

    def _known(self, batch: list[PlaceLine]) -> set[str]:
        known = {*self._session.find([line.id for line in batch])}
        gaps = [it.id for it in batch if isinstance(it, GapLine) and it.id not in known]
        marks = [it.id for it in batch if isinstance(it, MarkLine)]
        known |= {id for id in marks if self._session.find_data(id) is not None}
        return known | {id for id in gaps if self._session.is_deleted(id)}

    def _append(self, run: Run) -> None:
        assert self._writer is not None
        assert self._line is not None
        record = self._writer.look()
        if self._now.exists and not self._now.is_unfinished and self._marked != record.tip:
            # The tip is about to be moved: after a kill, the next run knows where it was.
            self._mark(self._line, record)
            self._marked = record.tip
        self.done.written += run.count(self._writer.append(run))

    def _end_session(self) -> None:
        """Put the tip where the file has it, unless the session went on here by itself."""
        if self._line is None or self._writer is None:
            return
        overlays, self._overlays = self._overlays, []
        if overlays:
            putter = OverlayPutter(self._session, overlays, self.done.notes)
            if self._now.is_ours:
                putter.put_all()
            else:
                putter.put_where_they_fit()
        self._delete_gaps(self._line.id, self._plan.awaited)
        if not self._now.is_closed:
            self._writer.leave(self._line.tip)
            self._end_record_if_ours(self._line)
        if self._is_marked:
            drop_mark(self._store, self._owner, self._line.id)
        self._line = self._writer = None
        self._progress()

    def _end_record_if_ours(self, line: SessionLine) -> None:
        """Let it be closed, and active when it was, now that all of it is there."""
        record = self._session.find_record() if self._now.is_ours else None
        patch = None if record is None else last_patch(line, record)
        if patch is not None:
            self._store.update_session(self._owner, line.id, patch)

    def _delete_gaps(self, session: str, awaited: Container[str] = ()) -> None:
        """Delete what stands in the place of gaps, but for what an overlay of a fork awaits."""
        ids = self._gaps.pop(session, [])
        kept = [id for id in ids if id in awaited]
        if len(kept) < len(ids):
            doomed = [id for id in ids if id not in awaited]
            self._store.delete_messages(self._owner, session, doomed)
        if kept:
            self._gaps[session] = kept

    def finish(self) -> None:
        """Write what is left."""
        self._flush()
        self._end_session()
        for session in list(self._gaps):
            self._delete_gaps(session)

    def abandon(self, error: BaseException) -> None:
        """Delete the session that was begun by this run, if one was and all of it is ours."""
        name = "" if self._line is None else self._line.id
        for other in self._gaps:
            if other != name:
                error.add_note(_incomplete(other))
        if self._line is None or self._writer is None:
            return
        with contextlib.suppress(SapwoodError):
            self._writer.put_back()
            if not self._now.exists and self._writer.is_untouched():
                self._store.delete_session(self._owner, name)
                if self._is_marked:
                    drop_mark(self._store, self._owner, name)
                self.done.created.remove(name)
                return
            if self._now.exists and not self._now.is_unfinished and self._is_marked:
                # The tip is where it belongs.
                drop_mark(self._store, self._owner, name)
        error.add_note(_incomplete(name))


def _incomplete(name: str) -> str:
    return f"session {name!r} is not complete: the same import, run again, finishes it"

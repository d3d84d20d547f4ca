"""The second pass of an import: write what is not there yet.

An append is idempotent by id, so that an import which was cut short can be run again. A session
that this run created and did not finish is deleted again, if nobody else has written to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import BinaryIO

from ..errors import AlreadyExistsError, SapwoodError
from ..model import Edge, NewMessage, Root
from ..store import Store
from .documents_and_usage import add_usage, put_document, undo_others
from .file_check import check_file
from .file_lines import iter_lines
from .gaps import Gaps
from .import_marks import ImportMark, drop_mark, put_mark
from .lines import (
    DocumentLine,
    GapLine,
    MessageLine,
    OverlayLine,
    PlaceLine,
    SessionLine,
    UsageLine,
)
from .new_records import count_messages, new_place, new_session
from .overlays import OverlayPutter
from .plan import CHUNK, CHUNK_BYTES, ImportPlan, SessionPlan
from .session_writer import SessionWriter
from .stored_messages import StoredMessages

OnImported = Callable[[int], None]
MOST_TRIES = 10


class Imported:
    """What was written, what was there, and what could not be carried over."""

    def __init__(self) -> None:
        self.created: list[str] = []
        self.existing: list[str] = []
        self.written = 0
        self.skipped = 0
        self.notes: list[str] = []


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
        self._place: SessionWriter | None = None
        self._is_marked = False
        self._marked: str | Root | None = None
        """The tip that the mark tells."""
        self._batch: list[PlaceLine] = []
        self._size = 0
        self._overlays: list[OverlayLine] = []
        self._gaps = Gaps(store, owner, plan.awaited)
        self.done = done

    def take(self, line: object, size: int) -> None:
        """Write a line, or keep it for the next batch."""
        if isinstance(line, MessageLine | GapLine):
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
            session = None if self._line is None else self._line.id
            put_document(self._store, self._owner, session, line, self._now, self.done.notes)
        elif isinstance(line, OverlayLine):
            self._overlays.append(line)
        elif isinstance(line, UsageLine):
            add_usage(self._store, self._owner, self._session, line)

    @property
    def _session(self) -> str:
        assert self._line is not None
        return self._line.id

    def _begin_session(self, line: SessionLine) -> None:
        self._now = self._plan.sessions[line.id]
        self._is_marked, self._marked = self._now.has_mark, None
        if not self._now.exists:
            self._create(line)
        elif line.id not in self.done.created:
            self.done.existing.append(line.id)
        self._line = line
        self._place = SessionWriter(self._store, self._owner, line.id, self._now)
        if line.fork is not None and self._now.is_ours:
            undo_others(self._store, self._owner, line.id, self._now)

    def _create(self, line: SessionLine) -> None:
        if line.fork is not None:
            # A fork begins with more than it may have had where it comes from.
            self._mark(line, line.created_us, is_new=True, tip=None)
        try:
            self._store.create_session(self._owner, new_session(line, self._edge(line)))
        except AlreadyExistsError as error:
            raise _AppearedError from error
        self.done.created.append(line.id)

    def _mark(self, line: SessionLine, created_us: int, *, is_new: bool, tip: str | None) -> None:
        mark = ImportMark(session=line.id, created_us=created_us, is_new=is_new, tip=tip)
        put_mark(self._store, self._owner, mark)
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
        if self._session not in self.done.created:
            self.done.skipped += sum(isinstance(it, MessageLine) for it in batch if it.id in known)
        run: list[NewMessage] = []
        parent: str | None = None
        for line in batch:
            if line.id in known:
                continue
            if run and line.parent != run[-1].id:
                self._append(run, parent)
                run = []
            if not run:
                parent = line.parent
            run.append(new_place(line))
        self._append(run, parent)
        self._gaps.meet(self._session, [it.id for it in batch if isinstance(it, GapLine)])
        self._progress()

    def _known(self, batch: list[PlaceLine]) -> set[str]:
        stored = StoredMessages(self._store, self._owner, self._session)
        known = {*stored.find([line.id for line in batch])}
        gaps = [it.id for it in batch if isinstance(it, GapLine) and it.id not in known]
        return known | {id for id in gaps if stored.is_deleted(id)}

    def _append(self, run: list[NewMessage], parent: str | None) -> None:
        if not run:
            return
        assert self._place is not None
        assert self._line is not None
        record = self._place.look()
        if self._now.exists and not self._now.is_unfinished and self._marked != record.tip:
            # The tip is about to be moved: after a kill, the next run knows where it was.
            tip = None if isinstance(record.tip, Root) else record.tip
            self._mark(self._line, record.created_us, is_new=False, tip=tip)
            self._marked = record.tip
        self.done.written += count_messages(run, self._place.append(run, parent))

    def _end_session(self) -> None:
        """Put the tip where the file has it, unless the session went on here by itself."""
        if self._line is None or self._place is None:
            return
        self._put_overlays()
        self._gaps.close(self._session)
        self._place.leave(self._line.tip)
        if self._is_marked:
            drop_mark(self._store, self._owner, self._line.id)
        self._line = self._place = None
        self._progress()

    def _put_overlays(self) -> None:
        overlays, self._overlays = self._overlays, []
        if not overlays:
            return
        putter = OverlayPutter(self._store, self._owner, self._session, overlays, self.done.notes)
        if self._now.is_ours:
            putter.put_all()
        else:
            putter.put_where_they_fit()

    def finish(self) -> None:
        """Write what is left."""
        self._flush()
        self._end_session()
        self._gaps.finish()

    def abandon(self, error: BaseException) -> None:
        """Delete the session that was begun by this run, if one was and all of it is ours."""
        name = "" if self._line is None else self._line.id
        for other in self._gaps.sessions:
            if other != name:
                error.add_note(_incomplete(other))
        if self._line is None or self._place is None:
            return
        with contextlib.suppress(SapwoodError):
            self._place.put_back()
            if not self._now.exists and self._place.is_untouched():
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

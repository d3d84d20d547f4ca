"""The second pass of an import: write what is not there yet.

An append is idempotent by id, so that an import which was cut short can be run again. A session
that this run created and did not finish is deleted again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import BinaryIO

from ..errors import SapwoodError
from ..model import ROOT, Edge, NewMessage, Root
from ..store import Store
from .adding import add_overlay, put_document, undo_others
from .check import check_file
from .lines import DocumentLine, MessageLine, OverlayLine, SessionLine, UsageLine
from .making import new_message, new_session, new_usage
from .plan import CHUNK, CHUNK_BYTES, Plan, SessionPlan
from .reading import iter_lines

Progress = Callable[[int], None]


class Imported:
    """What was written, what was there, and what could not be carried over."""

    def __init__(self) -> None:
        self.created: list[str] = []
        self.existing: list[str] = []
        self.written = 0
        self.skipped = 0
        self.notes: list[str] = []


def import_file(
    store: Store, owner: str, file: BinaryIO, progress: Progress = lambda position: None
) -> Imported:
    """Read sessions from a file that can be read twice.

    Messages that are stored already, and equal, are skipped; anything that differs is a
    `ConflictError` before anything is written. `progress` is called now and then, and between
    writes, with the bytes read so far in both passes; what it raises ends the import there.
    """
    plan = check_file(store, owner, file, lambda: progress(file.tell()))
    size = file.tell()
    loader = _Loader(store, owner, plan, lambda: progress(size + file.tell()))
    try:
        for it in iter_lines(file):
            loader.take(it.line, it.size)
        loader.finish()
    except BaseException:
        loader.abandon()
        raise
    return loader.done


class _Loader:
    """Goes over the lines, and writes what they say."""

    def __init__(self, store: Store, owner: str, plan: Plan, progress: Callable[[], None]) -> None:
        self._store = store
        self._owner = owner
        self._plan = plan
        self._progress = progress
        self._line: SessionLine | None = None
        self._now = SessionPlan(exists=True)
        self._batch: list[MessageLine] = []
        self._size = 0
        self.done = Imported()

    def take(self, line: object, size: int) -> None:
        """Write a line, or keep it for the next batch."""
        if isinstance(line, MessageLine):
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
            add_overlay(self._store, self._owner, self._session, line, self.done.notes)
        elif isinstance(line, UsageLine) and not self._now.has_usage:
            # A sum cannot be told apart from what it sums: none is added to what was there.
            self._store.add_usage(self._owner, self._session, new_usage(line))

    @property
    def _session(self) -> str:
        assert self._line is not None
        return self._line.id

    def _begin_session(self, line: SessionLine) -> None:
        self._now = self._plan.sessions[line.id]
        if self._now.exists:
            self._line = line
            self.done.existing.append(line.id)
            self._now.has_usage = bool(self._store.total_usage(self._owner, line.id))
            return
        self._store.create_session(self._owner, new_session(line, self._edge(line)))
        self._line = line
        self.done.created.append(line.id)
        if line.fork is not None:
            undo_others(self._store, self._owner, line.id, self._now)

    def _edge(self, line: SessionLine) -> Edge | None:
        """Give the edge to the parent, if that is here: a store refuses one that leads nowhere."""
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
        self.done.skipped += len(known)
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
            run.append(new_message(line))
        self._append(run, parent)
        self._progress()

    def _known(self, batch: list[MessageLine]) -> set[str]:
        ids = [line.id for line in batch]
        found = self._store.find_messages(self._owner, self._session, ids)
        return {message.id for message in found if message is not None}

    def _append(self, run: list[NewMessage], parent: str | None) -> None:
        if run:
            place: str | Root = ROOT if parent is None else parent
            done = self._store.append(self._owner, self._session, run, parent=place)
            self.done.written += done.written

    def _end_session(self) -> None:
        """Put the tip where the file has it, unless the session went on here by itself."""
        if self._line is None:
            return
        if self._now.is_tip_in_file:
            place: str | Root = ROOT if self._line.tip is None else self._line.tip
            self._store.checkout(self._owner, self._line.id, place)
        elif self._now.tip is not None:
            self._store.checkout(self._owner, self._line.id, self._now.tip)
        self._line = None
        self._progress()

    def finish(self) -> None:
        """Write what is left."""
        self._flush()
        self._end_session()

    def abandon(self) -> None:
        """Delete the session that was begun by this run, if one was."""
        if self._line is not None and not self._now.exists:
            with contextlib.suppress(SapwoodError):
                self._store.delete_session(self._owner, self._line.id)

"""The first pass of an import: is the file right, and does what is stored agree with it?

Nothing is written. Of a session that is in the store already, messages are compared a few hundred
at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec

from ..errors import MessageConflictError, UnsupportedOperationError, UsageError
from ..model import DataVersion
from ..rules import check, document_checks
from ..rules.codec import Packed, pack
from ..rules.data import with_data
from ..store import Store
from .export import tip_of
from .import_marks import ImportMark, find_mark
from .lines import (
    CHUNK,
    CHUNK_BYTES,
    MAX_LINE_BYTES,
    DocumentLine,
    GapLine,
    MarkLine,
    MessageLine,
    NumberedLine,
    Origin,
    OverlayLine,
    PlaceLine,
    SessionLine,
    UsageLine,
    first_few,
    iter_lines,
    new_overlay,
    new_place,
    new_session,
    new_usage,
    wrong,
)
from .named_session import MessagesById, NamedSession

ParentIds = dict[str, str | None]


@dataclass
class SessionPlan:
    """A session of the file: is it stored already, and what of it."""

    exists: bool
    has_mark: bool = False
    """An import that was cut off has written to it."""
    is_unfinished: bool = False
    """An import that was cut off created it: what it lacks or has too much is put right."""
    is_closed: bool = False
    """The stored session takes no messages or overlays."""
    tip: str | None = None
    """The stored tip; None is the root."""
    is_tip_left: bool = False
    """The tip stands where an import that was cut off left it, maybe."""
    tip_before: str | None = None
    """Where it stood before that import."""
    went_on: bool = False
    """The session has branches that end in messages which the file does not have."""
    stored_overlays: dict[str, str] = field(default_factory=dict)
    overlays: set[str] = field(default_factory=set)
    documents: set[str] = field(default_factory=set)

    @property
    def is_ours(self) -> bool:
        """All that it has comes from the file."""
        return not self.exists or (self.is_unfinished and not self.went_on)


@dataclass
class ImportPlan:
    """All sessions of a file."""

    sessions: dict[str, SessionPlan] = field(default_factory=dict)
    awaited: set[str] = field(default_factory=set)
    """Ids of what overlays of forks end at and their sources have."""


def check_file(
    store: Store, owner: str, file: BinaryIO, progress: Callable[[], None]
) -> ImportPlan:
    """Read the whole file and give what the second pass has to know.

    Raises `UsageError` for a file that is wrong, and `ConflictError` when what is stored differs.
    """
    checker = _FileCheck(store, owner, VisibleMessages(_sources_of(file)))
    for it in iter_lines(file):
        checker.take(it)
        if it.number % CHUNK == 0:
            progress()
    checker.finish()
    return checker.plan


def check_alone(file: BinaryIO) -> None:
    """Read the whole file for what is wrong with it where nothing is stored."""
    from ..stores.memory import MemoryStore

    with MemoryStore(clock=lambda: 0, new_id=lambda: "") as nothing:
        check_file(nothing, "nobody", file, lambda: None)


class _FileCheck:
    """Goes over the lines, a session at a time."""

    def __init__(self, store: Store, owner: str, visible: VisibleMessages) -> None:
        self._store = store
        self._owner = owner
        self._visible = visible
        self._session = NamedSession(store, owner, "")
        self.plan = ImportPlan()
        self._line: SessionLine | None = None
        self._number = 0
        self._now = SessionPlan(exists=False)
        self._elsewhere: set[str] = set()
        """Ends of stored branches that the file has not shown yet."""
        self._mark: ImportMark | None = None
        self._waiting: list[NumberedLine] = []
        self._size = 0
        self._conflicts: list[str] = []

    def take(self, it: NumberedLine) -> None:
        """Look at a line."""
        line = it.line
        try:
            if isinstance(line, SessionLine):
                self._begin(line, it.number)
            elif isinstance(line, MessageLine | GapLine | MarkLine):
                self._place(line, it)
            elif isinstance(line, OverlayLine):
                self._overlay(line, it.number)
            elif isinstance(line, DocumentLine):
                document_checks.document(self._owner, self._session.id or None, line.key)
                document_checks.document_value(line.value, self._store.max_message_bytes)
                self._now.documents.add(line.key)
            elif isinstance(line, UsageLine):
                check.usage(new_usage(line))
        except UsageError as error:
            if error.path.startswith("line "):
                raise
            raise wrong(it.number, f"is wrong: {error}") from error

    def _begin(self, line: SessionLine, number: int) -> None:
        self._end()
        if line.id in self.plan.sessions:
            raise wrong(number, f"is a second session {line.id!r}")
        if line.fork is not None and line.fork.session not in self.plan.sessions:
            raise wrong(
                number, f"is a fork of {line.fork.session!r}, which does not come before it"
            )
        check.new_session(new_session(line, line.parent))
        self._line, self._number = line, number
        self._session = self._session._replace(id=line.id)
        self._visible.begin(line)
        self._now = self.plan.sessions[line.id] = self._planned(line)
        self._check_origin(line, number)

    def _planned(self, line: SessionLine) -> SessionPlan:
        self._elsewhere, self._mark = set(), None
        record = self._session.find_record()
        if record is None:
            return SessionPlan(exists=False)
        self._elsewhere = set(self._ends())
        overlays = self._store.list_overlays(self._owner, line.id)
        mark = self._mark = find_mark(self._store, self._owner, record)
        return SessionPlan(
            exists=True,
            is_closed=record.closed,
            tip=tip_of(record),
            stored_overlays={it.id: it.summary for it in overlays},
            has_mark=mark is not None,
            is_unfinished=mark is not None and mark.is_new,
        )

    def _ends(self) -> Iterator[str]:
        """Yield the last live messages of the stored branches, but for what a fork inherited."""
        name = self._session.id
        for leaf in self._store.list_leaves(self._owner, name):
            message = leaf.message or self._session.find_live(leaf.id)
            if message and message.home == name and message.id not in self._visible:
                yield message.id

    def _check_origin(self, line: SessionLine, number: int) -> None:
        """Look for the message that a fork is to be made of."""
        fork = line.fork
        if fork is None or self._visible.is_origin_known or self._now.exists:
            return
        if not self._is_stored(fork.session, fork.message):
            what = f"is a fork of {fork.session!r} at {fork.message!r}, which is no message of it"
            raise wrong(number, what)

    def _is_stored(self, session: str, id: str) -> bool:
        stored = self._session._replace(id=session)
        return stored.find_record() is not None and stored.find_named(id) is not None

    def _sees(self, id: str) -> bool:
        """Whether the session of the file sees a message, or will when it is imported."""
        if id in self._visible:
            return True
        if self._line is None or self._line.fork is None:
            return False
        # The store may know more of a fork's path than the file.
        if self._now.exists:
            return self._is_stored(self._line.id, id)
        return not self._visible.is_origin_known and self._is_stored(self._line.fork.session, id)

    def _place(self, line: PlaceLine, it: NumberedLine) -> None:
        if line.id in self._visible:
            what = "inherits" if line.id in self._visible.inherited else "has already"
            raise wrong(it.number, f"has the id {line.id!r}, which the session {what}")
        if line.parent is not None and not self._sees(line.parent):
            raise wrong(it.number, f"follows {line.parent!r}, which does not come before it")
        self._check_content(line)
        self._visible.add(line.id, line.parent)
        self._elsewhere.discard(line.id)
        is_gap = isinstance(line, GapLine)
        if self._now.is_closed and is_gap and self._session.find_named(line.id) is None:
            self._add_conflict(it.number, f"gap {line.id!r} {_NOT_TAKEN}")
        if self._now.exists and isinstance(line, MarkLine):
            self._compare_mark(line, it.number)
        if self._now.exists and isinstance(line, MessageLine):
            self._waiting.append(it)
            self._size += it.size
            if len(self._waiting) >= CHUNK or self._size >= CHUNK_BYTES:
                self._compare_waiting()

    def _check_content(self, line: PlaceLine) -> None:
        most, batch = self._store.max_message_bytes, list[Packed]()
        if not isinstance(line, MarkLine):
            batch = [pack(new_place(line), lambda: "", most)]
        if line.data is not None:
            with_data(batch, line.data, line.id if isinstance(line, MarkLine) else None, str, most)
            if not self._session.has_data:
                raise UnsupportedOperationError(
                    "the file has data at positions, which this store does not keep: use another"
                )

    def _compare_mark(self, line: MarkLine, number: int) -> None:
        stored = self._session.find_named(line.id)
        is_equal = isinstance(stored, DataVersion) and stored.value == line.data
        if stored is not None and not is_equal:
            self._add_conflict(number, f"mark {line.id!r} has other data in the store")
        if stored is None and self._now.is_closed:
            self._add_conflict(number, f"mark {line.id!r} {_NOT_TAKEN}")

    def _overlay(self, line: OverlayLine, number: int) -> None:
        if line.id in self._now.overlays:
            raise wrong(number, f"is a second overlay {line.id!r}")
        for end in (line.first, line.last):
            if not self._sees(end):
                raise wrong(number, f"covers {end!r}, which is no message of the session")
        check.new_overlay(new_overlay(line), self._store.max_message_bytes)
        self._now.overlays.add(line.id)
        self.plan.awaited |= {line.first, line.last} & self._visible.inherited.keys()
        stored = self._now.stored_overlays.get(line.id)
        if stored is not None and stored != line.summary:
            self._add_conflict(number, f"overlay {line.id!r} has another summary in the store")
        if stored is None and self._now.is_closed:
            self._add_conflict(number, f"overlay {line.id!r} {_NOT_TAKEN}")

    def _end(self) -> None:
        """Finish a session: all that it has was seen."""
        self._compare_waiting()
        if self._line is None:
            return
        if self._line.tip is not None and not self._sees(self._line.tip):
            raise wrong(
                self._number, f"has the tip {self._line.tip!r}, which is no message of the session"
            )
        self._now.went_on = bool(self._elsewhere)
        if self._mark is not None and self._now.tip is not None and self._now.tip in self._visible:
            # An import that was cut off may have left the tip on a branch of the file.
            self._now.tip_before = self._mark.tip
            self._now.is_tip_left = not self._mark.is_new

    def _compare_waiting(self) -> None:
        """Compare messages with those stored under their ids."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        lines = [it.line for it in waiting if isinstance(it.line, MessageLine)]
        stored = self._session
        found = stored.find_with_parents(lines)
        for it, line in zip(waiting, lines, strict=True):
            what = _difference(stored, line, found)
            if not what and self._now.is_closed and line.id not in found:
                what = _NOT_TAKEN
            if what:
                self._add_conflict(it.number, f"message {line.id!r} {what}")

    def _add_conflict(self, number: int, what: str) -> None:
        self._conflicts.append(f"session {self._session.id!r}: {what} (line {number})")

    def finish(self) -> None:
        """Compare what is left, and raise if anything differed."""
        self._end()
        if self._conflicts:
            shown = first_few(self._conflicts)
            raise MessageConflictError(f"nothing was written, what is stored differs: {shown}")


_NOT_TAKEN = "is not in the store, where the session is closed: reopen it first"


def _difference(stored: NamedSession, line: MessageLine, found: MessagesById) -> str:
    message = found.get(line.id)
    if message is None:
        return "was deleted in the store" if stored.is_deleted(line.id) else ""
    here = (line.role, line.parts, line.metadata, line.name)
    if (message.role, message.parts, message.metadata, message.name) != here:
        return "has other content in the store"
    if stored.own_data(message) != line.data:
        return "has other data in the store"
    return "" if stored.follows(message, line, found) else "follows another message in the store"


class _ForkLine(msgspec.Struct):
    """As much of a line as tells the sources of forks."""

    kind: str = ""
    fork: Origin | None = None


class VisibleMessages:
    """The messages that the session which is being read sees.

    They are its own, and for a fork the path that it inherits. Only of sessions that forks come out
    of more than the ids are kept.
    """

    def __init__(self, sources: set[str]) -> None:
        self._sources = sources
        self._kept: dict[str, ParentIds] = {}
        self._own: ParentIds = {}
        self._is_source = False
        self.inherited: ParentIds = {}
        self.is_origin_known = True

    def begin(self, line: SessionLine) -> None:
        """Go on to a session."""
        self._own, self.inherited, self.is_origin_known = {}, {}, True
        if line.fork is not None:
            above = self._kept.get(line.fork.session, {})
            self.is_origin_known = line.fork.message in above
            self.inherited = _path(above, line.fork.message)
        self._is_source = line.id in self._sources
        if self._is_source:
            self._kept[line.id] = self._own
            self._own.update(self.inherited)

    def add(self, id: str, parent: str | None) -> None:
        """Add a message of the session's own."""
        self._own[id] = parent if self._is_source else None

    def __contains__(self, id: str) -> bool:
        """Whether the session sees a message."""
        return id in self._own or id in self.inherited


def _sources_of(file: BinaryIO) -> set[str]:
    """Find the sessions that forks come out of; lines that are wrong are passed over."""
    decode = msgspec.json.Decoder(_ForkLine).decode
    sources: set[str] = set()
    file.seek(0)
    while data := file.readline(MAX_LINE_BYTES):
        if b'"fork"' not in data:
            continue
        try:
            line = decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        if line.kind == "session" and line.fork is not None:
            sources.add(line.fork.session)
    return sources


def _path(parents: ParentIds, last: str) -> ParentIds:
    path: ParentIds = {}
    at: str | None = last
    while at is not None and at in parents and at not in path:
        path[at] = parents[at]
        at = parents[at]
    return path

"""Copying one session: compare, refuse or write, and compare again until both sides are equal."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from ...errors import AlreadyExistsError, ConflictError, NotFoundError, StoreCorruptError
from ...model import Edge, Position, SessionRecord
from ..import_marks import ImportMark, drop_mark, find_mark, mark_of, put_mark
from ..lines import SessionLine, new_session
from .comparison import Comparison
from .differences import DifferenceKind
from .events import CopyStatus
from .fingerprint import find_fingerprint, put_fingerprint
from .session_update import SessionUpdater
from .sides import Sides
from .source import SessionSource

MOST_ROUNDS = 5
OnProgress = Callable[[int, int], None]
"""Takes how many messages were gone over to be written, and how many were verified."""


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

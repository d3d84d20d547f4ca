"""Writing to one session of an import, whose tip stays where it belongs."""

from __future__ import annotations

import contextlib

from ..errors import NotFoundError, StaleTipError
from ..model import ROOT, Root, SessionRecord
from .export import tip_of
from .file_check import SessionPlan
from .lines import Run
from .named_session import NamedSession


class SessionWriter:
    """Writes messages to one session, and knows where its tip belongs."""

    def __init__(self, session: NamedSession, plan: SessionPlan) -> None:
        self._session = session
        self._store, self._owner, self._name = session
        self._plan = plan
        self._written = 0
        record = session.find_record()
        self._version = record.version if record else 0
        self._tip = record.tip if record else ROOT
        """Where the tip was when it was last looked at, or left."""
        self._is_moved = plan.exists and (record and tip_of(record)) != plan.tip
        self._fresh: set[str | Root] = set()
        """What was appended here: a tip there is an import's, this one's or another's."""
        self._aside: str | None = None
        if plan.went_on and plan.is_tip_left and not self._is_moved and not plan.is_closed:
            with contextlib.suppress(NotFoundError):
                self._move(plan.tip_before or ROOT)

    def append(self, run: Run) -> int:
        """Append messages or a mark after a parent; return how many were new. Look before."""
        self._fresh.update(run.ids)
        is_aside = self._plan.exists or self._is_moved
        if is_aside:
            self._aside = run.ids[-1]
        done = run.append_to(self._store, self._owner, self._name)
        if is_aside:
            self.put_back()
        elif done.written:
            self._tip = run.ids[-1]
        self._written += done.written if run.messages else 0
        return done.written

    def put_back(self) -> None:
        """Put the tip back if an append has moved it, and nobody since."""
        aside, self._aside = self._aside, None
        record = self._session.find_record()
        if aside is not None and record is not None and record.tip == aside != self._tip:
            self._checkout(self._tip, aside)

    def leave(self, tip: str | None) -> None:
        """Put the tip where the file has it, unless the session went on here by itself."""
        self.look()
        wanted = tip or ROOT
        if not self._is_moved and not self._plan.went_on and wanted != self._tip:
            self._move(wanted)

    def is_untouched(self) -> bool:
        """Whether all that the session has was written here."""
        record = self._session.find_record()
        if record is None:
            return False
        here = (record.messages, record.tip, record.version)
        if here != (self._written, self._tip, self._version):
            return False
        documents = self._store.list_documents(self._owner, session=self._name)
        overlays = self._store.list_overlays(self._owner, self._name)
        has_own_documents = {it.key for it in documents} <= self._plan.documents
        return has_own_documents and {it.id for it in overlays} <= self._plan.overlays

    def look(self) -> SessionRecord:
        """See whether somebody else has moved the tip."""
        gone = f"the session {self._name!r} was deleted meanwhile: import again"
        record = self._session.get_record(gone)
        if record.tip != self._tip:
            self._tip = record.tip
            self._is_moved |= record.tip not in self._fresh
        return record

    def _move(self, place: str | Root) -> None:
        if self._checkout(place, self._tip):
            self._tip = place

    def _checkout(self, place: str | Root, expected: str | Root) -> bool:
        """Move the tip from where it was seen; return False when somebody appended meanwhile."""
        try:
            moved = self._store.checkout(self._owner, self._name, place, expected_tip=expected)
        except StaleTipError:
            return False
        if moved.version == self._version + 1:
            self._version = moved.version
        return True

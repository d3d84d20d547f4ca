"""The tip of a session while messages are written to it, also by others.

An append moves the tip. In a session that others may be at work in, it is put back after each: what
they append meanwhile goes where they are, and not into a branch of the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ..errors import NotFoundError
from ..model import ROOT, NewMessage, Root, SessionRecord
from ..store import Store
from .plan import SessionPlan


class SessionWriter:
    """Writes messages to one session, and knows where its tip belongs."""

    def __init__(self, store: Store, owner: str, session: str, plan: SessionPlan) -> None:
        self._store = store
        self._owner = owner
        self._session = session
        self._plan = plan
        self._written = 0
        record = self._record()
        self._version = record.version if record else 0
        self._tip = record.tip if record else ROOT
        """Where the tip was when it was last looked at, or left."""
        self._is_moved = plan.exists and _named(self._tip) != plan.tip
        self._fresh: set[str | Root] = set()
        """What was appended here: a tip there is an import's, this one's or another's."""
        self._aside: str | None = None
        if plan.went_on and plan.is_tip_left and not self._is_moved:
            with contextlib.suppress(NotFoundError):
                self._move(ROOT if plan.tip_before is None else plan.tip_before)

    def append(self, run: Sequence[NewMessage], parent: str | None) -> int:
        """Append messages after a parent; return how many were new. Look before."""
        place: str | Root = ROOT if parent is None else parent
        self._fresh.update(it.id for it in run if it.id is not None)
        if self._plan.exists or self._is_moved:
            return self._append_aside(run, place)
        done = self._store.append(self._owner, self._session, run, parent=place)
        if done.written:
            self._tip = run[-1].id or ROOT
        self._written += done.written
        return done.written

    def _append_aside(self, run: Sequence[NewMessage], place: str | Root) -> int:
        self._aside = run[-1].id
        done = self._store.append(self._owner, self._session, run, parent=place)
        self.put_back()
        self._written += done.written
        return done.written

    def put_back(self) -> None:
        """Put the tip back if an append has moved it, and nobody since."""
        aside, self._aside = self._aside, None
        record = self._record()
        if aside is not None and record is not None and record.tip == aside != self._tip:
            self._store.checkout(self._owner, self._session, self._tip)

    def leave(self, tip: str | None) -> None:
        """Put the tip where the file has it, unless the session went on here by itself."""
        self.look()
        wanted: str | Root = ROOT if tip is None else tip
        if not self._is_moved and not self._plan.went_on and wanted != self._tip:
            self._move(wanted)

    def is_untouched(self) -> bool:
        """Whether all that the session has was written here."""
        record = self._record()
        if record is None:
            return False
        here = (record.messages, record.tip, record.version)
        return here == (self._written, self._tip, self._version) and not self._has_more()

    def _has_more(self) -> bool:
        documents = self._store.list_documents(self._owner, session=self._session)
        overlays = self._store.list_overlays(self._owner, self._session)
        return not (
            {it.key for it in documents} <= self._plan.documents
            and {it.id for it in overlays} <= self._plan.overlays
        )

    def look(self) -> SessionRecord:
        """See whether somebody else has moved the tip."""
        record = self._record()
        if record is None:
            raise NotFoundError(
                f"the session {self._session!r} was deleted meanwhile: import again",
                kind="session",
                id=self._session,
            )
        if record.tip != self._tip:
            self._tip = record.tip
            self._is_moved |= record.tip not in self._fresh
        return record

    def _move(self, place: str | Root) -> None:
        self._store.checkout(self._owner, self._session, place)
        self._tip = place

    def _record(self) -> SessionRecord | None:
        return self._store.find_session(self._owner, self._session)


def _named(tip: str | Root) -> str | None:
    return None if isinstance(tip, Root) else tip

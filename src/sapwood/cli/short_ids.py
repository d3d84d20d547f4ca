"""Ids as people read and type them: cut where they were made, and found by how they begin."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

from ..errors import NotFoundError, UsageError
from ..model import Overlay
from ..model.short_id import short as short
from ..rules.wording import did_you_mean
from ..session import Session, SessionManager
from .settings import OTHER_OWNER, iter_pages

PAGE = 500
MOST_CANDIDATES = 5
NEAREST_OF = 1_000


def session_id(sessions: SessionManager, given: str, *, takes_names: bool = True) -> str:
    """Return the session that has this id, or else the only one whose id begins so.

    Without `takes_names` that is only for ids that a program made: a name has to be whole.
    """
    if sessions.store.find_session(sessions.owner, given) is not None:
        return given
    pages = iter_pages(sessions, kind=None, limit=PAGE)
    ids = (it.id for page in pages for it in page.sessions)
    found, advice = _beginning(ids, given, takes_names=takes_names)
    if found:
        return _only(found, given, "session")
    raise NotFoundError(
        f"owner {sessions.owner!r} has no session {given!r}{advice or f': {OTHER_OWNER}'}",
        kind="session",
        id=given,
    )


def begun_session(sessions: SessionManager, given: str) -> str:
    """Return the id that a program made and that begins so, or else what was given: a new name."""
    with suppress(NotFoundError):
        return session_id(sessions, given, takes_names=False)
    return given


def message_id(sessions: SessionManager, session: Session, given: str) -> str:
    """Return the message that has this id, or else the only one in the session that begins so."""
    [parent] = sessions.store.find_parents(session.owner, session.id, [given])
    if parent is not None:
        return given  # deleted or not
    found, advice = _beginning((it.id for it in session.iter_messages()), given)
    if found:
        return _only(found, given, "message")
    raise NotFoundError(
        f"session {session.id!r} sees no message {given!r}{advice}", kind="message", id=given
    )


def find_overlay(session: Session, given: str) -> Overlay | None:
    """Return the overlay that has this id, or else the only one in force that begins so."""
    known = {overlay.id: overlay for overlay in session.overlays()}
    found = [given] if given in known else _beginning(known, given)[0]
    return known[_only(found, given, "summary", "summaries")] if found else None


def _beginning(
    ids: Iterable[str], given: str, *, takes_names: bool = True
) -> tuple[list[str], str]:
    """Return some of the ids that begin so, and if there are none, what else may be meant."""
    found: list[str] = []
    known: list[str] = []
    for id in ids:
        if id.startswith(given) and (takes_names or short(id) != id):
            found.append(id)
        elif len(known) < NEAREST_OF:
            known.append(id)
        if len(found) > MOST_CANDIDATES:
            break
    return found, "" if found else did_you_mean(given, known)


def _only(found: list[str], given: str, what: str, several: str = "") -> str:
    if len(found) == 1:
        return found[0]
    named = found[:MOST_CANDIDATES]
    begun = [short(id) for id in found]
    if sys.stderr.isatty() and len(set(begun)) == len(found):
        named = begun[:MOST_CANDIDATES]  # told apart by these, too
    names = ", ".join(map(repr, named))
    others = " and others" if len(found) > MOST_CANDIDATES else ""
    raise UsageError(
        f"several {several or f'{what}s'} begin with {given!r}: {names}{others}; write more of the "
        "one you mean",
        path=what,
    )

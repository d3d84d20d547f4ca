"""Marks of what an import has begun, for the run that finishes it after a kill.

A mark is a document of the owner with an expiry: it is neither exported nor handed on to forks. It
is put before the first write, so that no kill comes between, and deleted after the last.
"""

from __future__ import annotations

import hashlib

import msgspec

from ..model import SessionRecord
from ..store import Store
from .export import tip_of
from .lines import SessionLine

KEEP_S = 10 * 365 * 24 * 3600.0


class ImportMark(msgspec.Struct, frozen=True, kw_only=True):
    """A session that an import has begun to write, and what it found."""

    session: str
    created_us: int
    """Tells the session from another that got the same id later."""
    is_new: bool
    tip: str | None
    """The tip before the import; None is the root."""


def mark_of(line: SessionLine, record: SessionRecord | None) -> ImportMark:
    """Make the mark of a session that is created, or that is there already as its record says."""
    created_us = line.created_us if record is None else record.created_us
    tip = None if record is None else tip_of(record)
    return ImportMark(session=line.id, created_us=created_us, is_new=record is None, tip=tip)


def put_mark(store: Store, owner: str, mark: ImportMark) -> None:
    """Mark a session as begun."""
    value = msgspec.json.encode(mark)
    store.put_document(owner, _key(mark.session), value, expires_in_s=KEEP_S)


def find_mark(store: Store, owner: str, record: SessionRecord) -> ImportMark | None:
    """Find the mark of this very session, not of one that had its id before."""
    document = store.find_document(owner, _key(record.id))
    if document is None:
        return None
    try:
        mark = msgspec.json.decode(document.value, type=ImportMark)
    except msgspec.MsgspecError:
        return None
    return mark if mark.created_us == record.created_us else None


def drop_mark(store: Store, owner: str, session: str) -> None:
    """Note that a session is complete."""
    store.delete_document(owner, _key(session))


def _key(session: str) -> str:
    return f"importing:{hashlib.sha256(session.encode()).hexdigest()[:32]}"

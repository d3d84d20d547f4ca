"""Taking out of records what is no longer said; what they did to the state stays."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from .log_documents import LogDocument
from .record import Record, decode_record, encode_record
from .state import LogState
from .work import AddOverlay, AddUsage, Append, Clear, Edit, LogWork, PutDocument, Retire


def tidied(stored: LogDocument, state: LogState) -> LogDocument | None:
    """Return a record without what its state says is said no more; None when nothing is to go."""
    if not stored.data:
        return None
    record = decode_record(stored.data, stored.id)
    work = _tidied(record.work, stored.n, state)
    return None if work is record.work else _rewritten(stored, record, work)


def _rewritten(stored: LogDocument, record: Record, work: LogWork) -> LogDocument:
    return replace(stored, data=encode_record(replace(record, work=work)))


def _tidied(work: LogWork, n: int, state: LogState) -> LogWork:
    match work:
        case Append():
            return _cut(work, state.edits.get(work.number, {}).__contains__)
        case Edit(body=bytes()):
            edited = state.edits.get(work.number, {}).get(work.depth)
            is_said = edited is None or edited.n == n
            return work if is_said else replace(work, role=None, digest=None, body=None)
        case PutDocument(value=bytes()):
            kept = state.documents.get(work.key)
            is_kept = kept is not None and kept.n == n
            return work if is_kept else replace(work, value=None)
    return work


def _cut(work: Append, is_gone: Callable[[int], bool]) -> Append:
    """Take messages out of an append, by their depths; their ids and tokens stay."""
    said = [
        replace(it, role=None, body=None) if it.body is not None and is_gone(depth) else it
        for depth, it in enumerate(work.messages, work.first)
    ]
    is_same = all(a is b for a, b in zip(said, work.messages, strict=True))
    return work if is_same else replace(work, messages=said)


class Needed(msgspec.Struct):
    """What others stand on in a log of which segments are retired."""

    depths: dict[int, int]
    """The deepest position that is stood on, by segment number."""
    records: set[int]
    """The records of overlays that are in force."""


def swept(stored: LogDocument, state: LogState, needed: Needed) -> LogDocument | bool:
    """Return what to do with a record: True to keep it, False to empty it, or what replaces it."""
    if not stored.data or stored.n >= state.page:
        return True
    record = decode_record(stored.data, stored.id)
    match record.work:
        case Append() as work:
            return _swept_append(stored, record, work, state, needed)
        case Edit() as work:
            return work.number > state.retired or work.depth <= needed.depths.get(work.number, 0)
        case AddOverlay():
            in_force = {it.n for it in state.overlays if it.log == state.log}
            return stored.n in needed.records or stored.n in in_force
        case Clear() | Retire():
            # The change feed tells of it, whatever else became of the session.
            return _without_state(stored, record)
        case _ if not (state.is_alive and state.session):
            return False
        case PutDocument() | AddUsage():
            return _without_state(stored, record)
    # A page has nothing that a later one does not have.
    return not stored.is_page


def _without_state(stored: LogDocument, record: Record) -> LogDocument | bool:
    """Keep what a record did; a state that it has is also in a later page."""
    if not stored.is_page:
        return True
    return replace(stored, data=encode_record(replace(record, state=None)), is_page=False)


def _swept_append(
    stored: LogDocument, record: Record, work: Append, state: LogState, needed: Needed
) -> LogDocument | bool:
    last = needed.depths.get(work.number, 0)
    if work.number > state.retired or stored.last <= last:
        return True
    if work.first > last:
        return False
    cut = _cut(work, lambda depth: depth > last)
    return True if cut is work else _rewritten(stored, record, cut)

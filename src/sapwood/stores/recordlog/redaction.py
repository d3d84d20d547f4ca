"""Taking out of records what is no longer said; what they did to the state stays."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from .log_documents import LogDocument
from .record import Record, decode_record, encode_record
from .state import LogState
from .work import (
    AddOverlay,
    AddUsage,
    Append,
    AppendedMessage,
    Clear,
    Edit,
    LogWork,
    PutDocument,
    Retire,
)

IsGone = Callable[[int, int], bool]
"""Whether nothing is to be left of the position in a segment, by its number, at a depth."""


def superseded(state: LogState) -> IsGone:
    """Return what of a log's messages is not said any more as it was appended."""

    def is_gone(number: int, depth: int) -> bool:
        return depth in state.edits.get(number, {})

    return is_gone


def tidied(stored: LogDocument, state: LogState) -> LogDocument | None:
    """Return a record without what its state says is said no more; None when nothing is to go."""
    if not stored.data:
        return None
    record = decode_record(stored.data, stored.id)
    work = _tidied(record.work, stored.n, state)
    return None if work is record.work else rewritten(stored, record, work)


def rewritten(stored: LogDocument, record: Record, work: LogWork) -> LogDocument:
    """Return a stored record with other work in it."""
    return replace(stored, data=encode_record(replace(record, work=work)))


def _tidied(work: LogWork, n: int, state: LogState) -> LogWork:
    if isinstance(work, Append):
        return cut_append(work, superseded(state))
    if isinstance(work, Edit):
        edited = state.edits.get(work.number, {}).get(work.depth)
        if edited is None or edited.n == n or work.body is None:
            return work
        return replace(work, role=None, digest=None, body=None)
    if isinstance(work, PutDocument):
        kept = state.documents.get(work.key)
        is_kept = kept is not None and kept.n == n
        return work if is_kept or work.value is None else replace(work, value=None)
    return work


def cut_append(work: Append, is_gone: IsGone) -> Append:
    """Take messages out of an append; their ids and tokens stay."""
    said = [
        _emptied(it) if it.body is not None and is_gone(work.number, depth) else it
        for depth, it in enumerate(work.messages, work.first)
    ]
    if all(a is b for a, b in zip(said, work.messages, strict=True)):
        return work
    return replace(work, messages=said)


def _emptied(said: AppendedMessage) -> AppendedMessage:
    return replace(said, role=None, body=None)


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
    work = record.work
    if isinstance(work, Append):
        return _swept_append(stored, record, work, state, needed)
    if isinstance(work, Edit):
        return work.number > state.retired or work.depth <= needed.depths.get(work.number, 0)
    if isinstance(work, AddOverlay):
        in_force = {it.n for it in state.overlays if it.log == state.log}
        return stored.n in needed.records or stored.n in in_force
    if isinstance(work, Clear | Retire):
        # The change feed tells of it, whatever else became of the session.
        return _without_state(stored, record)
    if not (state.is_alive and state.session):
        return False
    if isinstance(work, PutDocument | AddUsage):
        return _without_state(stored, record)
    # A page has nothing that a later one does not have.
    return not stored.is_page


def _without_state(stored: LogDocument, record: Record) -> LogDocument | bool:
    """Keep what a record did; a state that it has is also in a later page."""
    if not stored.is_page:
        return True
    data = encode_record(replace(record, state=None))
    return replace(stored, data=data, is_page=False)


def _swept_append(
    stored: LogDocument, record: Record, work: Append, state: LogState, needed: Needed
) -> LogDocument | bool:
    last = needed.depths.get(work.number, 0)
    if work.number > state.retired or stored.last <= last:
        return True
    if work.first > last:
        return False
    cut = cut_append(work, lambda _, depth: depth > last)
    return True if cut is work else rewritten(stored, record, cut)

"""From one record of a log to the next: what it does to the state, and how it is stored."""

from __future__ import annotations

from msgspec.structs import replace

from ...errors import StoreCorruptError
from .errors import BehindError
from .fold import fold
from .log_documents import LogDocument, LogKind, record_key
from .place import segment_name
from .record import Record, decode_record, encode_record
from .state import LogState, decode_state
from .work import Append, Clear, LogWork, NoteSwept, Retire, TrimFeed, WipeLog, WritePage

PAGE = 32
"""How many records there are between two pages, at least."""
BYTES_FOR_A_RECORD = 256
"""A page's size is spread over the records that it comes after: so many bytes are one more."""


def is_page_due(after: LogState, work: LogWork) -> bool:
    """Whether the next record is to have the state of its log."""
    if isinstance(work, Clear | Retire | WritePage | TrimFeed | WipeLog):
        return True
    if isinstance(work, NoteSwept) and not after.is_alive:
        # The state by which it was swept still names its documents, and may go now.
        return True
    return after.n - after.page >= PAGE + after.page_bytes // BYTES_FOR_A_RECORD


def state_at(page: LogDocument) -> LogState:
    """Return the state that a page has."""
    record = decode_record(page.data, page.id)
    if record.state is None:
        raise StoreCorruptError(f"record {page.id} is no page")
    return decode_state(record.state, page.id)


def next_state(state: LogState, stored: LogDocument) -> LogState:
    """Fold the next record of a log; what was written since a page is not needed at it."""
    if stored.n != state.n + 1:
        raise StoreCorruptError(f"record {state.n + 1} of log {state.log} is missing")
    if not stored.data:
        raise BehindError
    record = decode_record(stored.data, stored.id)
    after = fold(state, record.work)
    if record.state is not None:
        return replace(decode_state(record.state, stored.id), tail=after.tail)
    return after


def stored_record(after: LogState, record: Record, most: int | None = None) -> LogDocument:
    """Return a record as it is stored; one of more than so many bytes is refused."""
    key = record_key(after.tree, after.log, after.n)
    segment, first, last = "", 0, 0
    work = record.work
    if isinstance(work, Append):
        segment = segment_name(after.own(work.number))
        first, last = work.first, work.first + len(work.messages) - 1
    return LogDocument(
        kind=LogKind.RECORD,
        id=key.id,
        shard=key.shard,
        data=encode_record(record, most),
        log=after.log,
        n=after.n,
        is_page=record.state is not None,
        segment=segment,
        first=first,
        last=last,
    )

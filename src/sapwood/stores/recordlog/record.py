"""Records as they are stored and back, and what one makes of the state of its log.

A batch is one record, since that is what makes it all or nothing, and a record is sent whole. The
messages of a large one are compressed in bundles, each of which is opened by itself, so that a
reader of a few need not have them all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from ...errors import StoreCorruptError
from .errors import BehindError, decoded, too_large
from .fold import fold
from .log_documents import LogDocument, LogKind, record_key
from .place import segment_name
from .state import LogState, decode_state
from .work import (
    Append,
    AppendedMessage,
    Bundle,
    Clear,
    LogWork,
    NoteSwept,
    Retire,
    TrimFeed,
    WipeLog,
    WritePage,
)

MANY = 32
IN_A_BUNDLE = 64
SIZES = range(16 * 1024, 2 * 1024 * 1024)
"""Below, bundles do not matter; above are files more often than words, and they take their time."""

PAGE = 32
"""How many records there are between two pages, at least."""
BYTES_FOR_A_RECORD = 256
"""A page's size is spread over the records that it comes after: so many bytes are one more."""


class Record(msgspec.Struct, frozen=True, array_like=True):
    """What the `data` of a record holds: who wrote it and when, what was done, maybe the state.

    The stamp orders records of several logs, as far as clocks agree; in a log their number does.
    """

    mark: str
    stamp: int
    work: LogWork
    state: bytes | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode
_decode_messages = msgspec.msgpack.Decoder(list[AppendedMessage]).decode


def encode_record(record: Record, most: int | None = None) -> bytes:
    """Encode a record; one that takes more bytes than `most`, in bundles or not, is refused."""
    data = _encode(record)
    if most is not None and len(data) > most:
        raise too_large(len(data), most)
    work = record.work
    if isinstance(work, Append) and len(work.messages) >= MANY and len(data) in SIZES:
        return _encode(replace(record, work=_bundled(work)))
    return data


def _bundled(work: Append) -> Append:
    starts = range(0, len(work.messages), IN_A_BUNDLE)
    groups = [work.messages[start : start + IN_A_BUNDLE] for start in starts]
    # The least effort: it leaves a third, in a tenth of the time that the most takes.
    bundles = [
        Bundle(len(said), sum(it.tokens for it in said), zlib.compress(_encode(said), 1))
        for said in groups
    ]
    return replace(work, messages=[], bundles=bundles)


def open_record(data: bytes, where: str) -> Record:
    """Decode a record, and leave its bundles closed."""
    return decoded(_decode, data, f"record {where}")


def decode_record(data: bytes, where: str) -> Record:
    """Decode a record; one that cannot be decoded is an error that says where."""
    record = open_record(data, where)
    work = record.work
    if isinstance(work, Append) and work.bundles:
        said = [it for bundle in work.bundles for it in _opened(bundle, where)]
        return replace(record, work=replace(work, messages=said, bundles=[]))
    return record


def work_of(stored: LogDocument | None) -> LogWork | None:
    """Return what a record did; None for one that is not there, or was emptied."""
    return decode_record(stored.data, stored.id).work if stored and stored.data else None


def runs_of(
    work: Append, first: int, last: int, where: str
) -> Iterator[tuple[int, int, list[AppendedMessage]]]:
    """Yield runs that have all messages between two depths, and maybe others.

    Of each, the depth of its first message, the tokens above it, and its messages.
    """
    if not work.bundles:
        yield work.first, work.base, work.messages
    depth, base = work.first, work.base
    for bundle in work.bundles:
        if first < depth + bundle.count and depth <= last:
            yield depth, base, _opened(bundle, where)
        depth += bundle.count
        base += bundle.tokens


def _opened(bundle: Bundle, where: str) -> list[AppendedMessage]:
    said = decoded(lambda it: _decode_messages(zlib.decompress(it)), bundle.data, f"record {where}")
    if len(said) != bundle.count:
        raise StoreCorruptError(f"record {where} has another number of messages than it says")
    return said


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

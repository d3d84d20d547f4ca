"""Records as they are stored and back, and what one makes of the state of its log.

A batch is one record, since that is what makes it all or nothing, and a record is sent whole. The
messages of a large one are compressed in bundles, each of which is opened by itself, so that a
reader of a few need not have them all.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from ...errors import StoreCorruptError
from ...rules.data import without_field
from .errors import BehindError, decoded, too_large
from .fold import fold
from .log_documents import LogDocument, LogKind, record_key
from .state import KeptData, LogState, decode_state
from .work import (
    AddOverlay,
    AddUsage,
    Append,
    AppendedMessage,
    Bundle,
    Clear,
    Edit,
    LogWork,
    NoteSwept,
    PutDocument,
    Retire,
    RewriteData,
    TrimFeed,
    WipeLog,
    WritePage,
    segment_name,
)

MANY = 32
IN_A_BUNDLE = 64
SIZES = range(16 * 1024, 2 * 1024 * 1024)
"""Below, bundles do not matter; above are files more often than words, and they take their time."""

PAGE = 32
"""How many records there are between two pages, at least."""
BYTES_FOR_A_RECORD = 256
"""A page's size is spread over the records that it comes after: so many bytes are one more."""

_encode = msgspec.msgpack.Encoder().encode
_decode_messages = msgspec.msgpack.Decoder(list[AppendedMessage]).decode


class Record(msgspec.Struct, frozen=True, array_like=True):
    """What the `data` of a record holds: who wrote it and when, what was done, maybe the state.

    The stamp orders records of several logs, as far as clocks agree; in a log their number does.
    `also` is what came along with the work: documents, and a change of the session's record.
    """

    mark: str
    stamp: int
    work: LogWork
    state: bytes | None = None
    also: list[LogWork] = []


_decode = msgspec.msgpack.Decoder(Record).decode


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


def works_in(stored: LogDocument | None) -> list[LogWork]:
    """Return all that a record did; nothing for one that is not there, or was emptied."""
    if stored is None or not stored.data:
        return []
    record = decode_record(stored.data, stored.id)
    return [record.work, *record.also]


def work_of(stored: LogDocument | None) -> LogWork | None:
    """Return what a record did; None for one that is not there, or was emptied."""
    return decode_record(stored.data, stored.id).work if stored and stored.data else None


def value_in(stored: LogDocument, key: str) -> bytes | None:
    """Return the value of a document that a record put; None when it was replaced since."""
    if not stored.data:
        return None
    record = open_record(stored.data, stored.id)
    put = [it for it in (record.work, *record.also) if isinstance(it, PutDocument)]
    return next((it.value for it in put if it.key == key), None)


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
    if isinstance(work, Append) and work.clears:
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
    after = fold(state, record.work, record.also)
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


def tidied(stored: LogDocument, state: LogState) -> LogDocument | None:
    """Return a record without what its state says is said no more; None when nothing is to go."""
    if not stored.data:
        return None
    record = decode_record(stored.data, stored.id)
    work = _tidied(record.work, stored.n, state)
    tidy = replace(record, work=work, also=_tidied_along(record, stored.n, state))
    return None if tidy == record else replace(stored, data=encode_record(tidy))


def _tidied_along(record: Record, n: int, state: LogState) -> list[LogWork]:
    return [_tidied(it, n, state) for it in record.also]


def _tidied(work: LogWork, n: int, state: LogState) -> LogWork:
    match work:
        case Append():
            said = _cut(work, state.edits.get(work.number, {}).__contains__)
            said = _without_data(said, state.data.get(work.number, {}))
            return _without_fields(said, state.erased_fields.get(work.number, {}))
        case RewriteData(value=bytes() as value):
            version = state.data.get(work.number, {}).get(work.depth)
            if version is None:
                return work
            erased = dict.fromkeys(version.erased, work.depth)
            left = data_left(value, erased, work.depth)
            return replace(work, value=left if version.anew == n else None)
        case Edit(body=bytes()):
            edited = state.edits.get(work.number, {}).get(work.depth)
            is_said = edited is None or edited.n == n
            return work if is_said else replace(work, role=None, digest=None, body=None)
        case PutDocument(value=bytes()):
            kept = state.documents.get(work.key)
            is_kept = kept is not None and kept.n == n
            return work if is_kept else replace(work, value=None)
    return work


def _without_data(work: Append, versions: Mapping[int, KeptData]) -> Append:
    """Take data out of an append that was written anew since; that there was some stays known."""
    gone = {depth for depth, kept in versions.items() if kept.anew}
    said = [
        replace(it, data=b"") if depth in gone and it.data else it
        for depth, it in enumerate(work.messages, work.first)
    ]
    return replace(work, messages=said) if gone else work


def _without_fields(work: Append, fields: Mapping[str, int]) -> Append:
    """Take fields out of the data of an append, each down to a depth."""
    if not fields or not any(it.data for it in work.messages):
        return work
    said = [
        replace(it, data=data_left(it.data, fields, depth)) if it.data else it
        for depth, it in enumerate(work.messages, work.first)
    ]
    return replace(work, messages=said)


def data_left(data: bytes, fields: Mapping[str, int], depth: int) -> bytes:
    """Return the data at a depth without the fields that were taken out down to a deeper one."""
    for field, last in fields.items():
        if depth <= last:
            data = without_field(data, field)
    return data


def _cut(work: Append, is_gone: Callable[[int], bool], *, with_data: bool = False) -> Append:
    """Take messages out of an append, by their depths; their ids and tokens stay."""
    said = [
        _emptied(it, with_data) if is_gone(depth) else it
        for depth, it in enumerate(work.messages, work.first)
    ]
    is_same = all(a is b for a, b in zip(said, work.messages, strict=True))
    return work if is_same else replace(work, messages=said)


def _emptied(it: AppendedMessage, with_data: bool) -> AppendedMessage:
    # That there was data stays known, as an id does.
    data = b"" if with_data and it.data is not None else it.data
    if it.is_mark:
        return it if data == it.data else replace(it, data=data)
    if it.body is None and data == it.data:
        return it
    return replace(it, role=None, body=None, digest=None, data=data)


_InPlace = Edit | RewriteData
"""What says something else for a position that was given before."""


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
    if isinstance(record.work, Append | _InPlace) and record.work.number > state.retired:
        return True
    along = [it for it in record.also if not isinstance(it, _InPlace)]
    work = _needed_work(record, stored, state, needed)
    left = _left_to(replace(record, also=along), work, stored.n, state)
    kept = [it for it in record.also if isinstance(it, _InPlace) and _is_needed(it, needed)]
    if kept and left is None:
        left = replace(record, work=kept[0], state=None, also=kept[1:])
    elif kept and left is not None:
        left = replace(left, also=[*left.also, *kept])
    if left is None or left == record:
        return left is not None
    return replace(stored, data=encode_record(left), is_page=False)


def _is_needed(work: Edit | RewriteData, needed: Needed) -> bool:
    return work.depth <= needed.depths.get(work.number, 0)


def _left_to(record: Record, work: LogWork | None, n: int, state: LogState) -> Record | None:
    """Return a record with what is needed of its work, and of what came along; None for nothing."""
    if not _is_lived_in(state):
        # Others stand on its messages. What was its own, and who it was, is gone.
        return None if work is None else replace(record, work=work, state=None, also=[])
    also = _tidied_along(record, n, state)
    if work is None and any(isinstance(it, PutDocument) and it.value is not None for it in also):
        work = _unsaid(record.work)
    if work is None:
        return None
    # A state that it has is also in a later page.
    return replace(record, work=work, state=None, also=also)


def _is_lived_in(state: LogState) -> bool:
    return state.is_alive and bool(state.session)


def _unsaid(work: LogWork) -> LogWork:
    """Return work without anything that was said by it."""
    match work:
        case Append():
            return _cut(work, lambda _: True, with_data=True)
        case Edit():
            return replace(work, role=None, digest=None, body=None)
        case RewriteData():
            return replace(work, value=None)
    return work


def _needed_work(
    record: Record, stored: LogDocument, state: LogState, needed: Needed
) -> LogWork | None:
    """Return what is needed of the work of a record, whatever came along with it."""
    match record.work:
        case Append() as work:
            last = needed.depths.get(work.number, 0)
            if work.first > last:
                # It cleared the session, too: of that the change feed tells as of the others.
                return Clear(work.at_us, work.version) if work.clears else None
            return _cut(work, lambda depth: depth > last, with_data=True)
        case Edit() | RewriteData() as work:
            return work if _is_needed(work, needed) else None
        case AddOverlay() as work:
            in_force = {it.n for it in state.overlays if it.log == state.log}
            return work if stored.n in needed.records | in_force else None
        case Clear() | Retire() as work:
            # The change feed tells of it, whatever else became of the session.
            return work
        case _ if not _is_lived_in(state):
            return None
        case PutDocument() | AddUsage() as work:
            return _tidied(work, stored.n, state)
    # A page has nothing that a later one does not have.
    return None if stored.is_page else record.work

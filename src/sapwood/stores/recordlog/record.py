"""Records as they are stored, and back.

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
from .errors import decoded, too_large
from .log_documents import LogDocument
from .work import Append, AppendedMessage, Bundle, LogWork

MANY = 32
IN_A_BUNDLE = 64
SIZES = range(16 * 1024, 2 * 1024 * 1024)
"""Below, bundles do not matter; above are files more often than words, and they take their time."""


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

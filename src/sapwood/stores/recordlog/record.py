"""Records as they are stored, and back."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ...errors import StoreCorruptError
from .bundles import bundled, is_large, unbundled
from .errors import too_large
from .work import Append, LogWork


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


def encode_record(record: Record, most: int | None = None) -> bytes:
    """Encode a record; one that takes more bytes than `most`, in bundles or not, is refused."""
    data = _encode(record)
    if most is not None and len(data) > most:
        raise too_large(len(data), most)
    work = record.work
    if isinstance(work, Append) and is_large(work, len(data)):
        return _encode(replace(record, work=bundled(work)))
    return data


def open_record(data: bytes, where: str) -> Record:
    """Decode a record, and leave its bundles closed."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise StoreCorruptError(f"record {where} cannot be decoded: {error}") from error


def decode_record(data: bytes, where: str) -> Record:
    """Decode a record; one that cannot be decoded is an error that says where."""
    record = open_record(data, where)
    work = record.work
    if isinstance(work, Append) and work.bundles:
        return replace(record, work=unbundled(work, where))
    return record

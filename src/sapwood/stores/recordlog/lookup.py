"""Look-ups: documents that say where a message stands, or which record counts a usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from ...errors import StoreCorruptError
from ...rules.tree import Place
from .log_documents import LogDocument, LogKind, id_key, usage_key, value_key
from .place import number_of, segment_of
from .state import LogState, MessagePlace

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder().encode
_decode_spot = msgspec.msgpack.Decoder(tuple[int, int, int]).decode
_decode_number = msgspec.msgpack.Decoder(int).decode


def lookups_of(state: LogState) -> list[LogDocument]:
    """Return the look-ups of all that was recorded since the page."""
    made = []
    for id, spotted in state.recent.items():
        key = id_key(state.tree, state.log, state.epoch, id)
        spot = (number_of(spotted.place.segment), spotted.place.depth, spotted.n)
        made.append(
            LogDocument(kind=LogKind.LOOKUP, id=key.id, shard=key.shard, data=_encode(spot))
        )
    for id, n in state.recent_usage.items():
        key = usage_key(state.tree, state.log, id)
        made.append(LogDocument(kind=LogKind.LOOKUP, id=key.id, shard=key.shard, data=_encode(n)))
    return made


def spotted_by(stored: LogDocument, log: str) -> MessagePlace:
    """Read where a message of a log stands."""
    number, depth, n = _decoded(stored, _decode_spot)
    return MessagePlace(Place(segment_of(log, number), depth), n)


def counted_by(stored: LogDocument) -> int:
    """Read which record counts a usage."""
    return _decoded(stored, _decode_number)


def _decoded(stored: LogDocument, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(stored.data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(
            f"look-up {stored.id} cannot be decoded: call admin.repair() ({error})"
        ) from error


def copied_value(tree: str, log: str, key: str, n: int, value: bytes) -> LogDocument:
    """Return the copy of a document's value for a fork."""
    named = value_key(tree, log, key, n)
    return LogDocument(kind=LogKind.LOOKUP, id=named.id, shard=named.shard, data=value)

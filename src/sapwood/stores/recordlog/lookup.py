"""Look-ups: documents that say where a message stands, or which record counts a usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from ...errors import StoreCorruptError
from ...rules.tree import Place
from .place import number_of, segment_of
from .state import Spotted, State
from .stored import Kind, Stored, id_key, usage_key, value_key

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder().encode
_decode_spot = msgspec.msgpack.Decoder(tuple[int, int, int]).decode
_decode_number = msgspec.msgpack.Decoder(int).decode


def lookups_of(state: State) -> list[Stored]:
    """Give the look-ups of all that was recorded since the page."""
    made = []
    for id, spotted in state.recent.items():
        key = id_key(state.tree, state.log, state.epoch, id)
        spot = (number_of(spotted.place.segment), spotted.place.depth, spotted.n)
        made.append(Stored(kind=Kind.LOOKUP, id=key.id, shard=key.shard, data=_encode(spot)))
    for id, n in state.recent_usage.items():
        key = usage_key(state.tree, state.log, id)
        made.append(Stored(kind=Kind.LOOKUP, id=key.id, shard=key.shard, data=_encode(n)))
    return made


def spotted_by(stored: Stored, log: str) -> Spotted:
    """Read where a message of a log stands."""
    number, depth, n = _decoded(stored, _decode_spot)
    return Spotted(Place(segment_of(log, number), depth), n)


def counted_by(stored: Stored) -> int:
    """Read which record counts a usage."""
    return _decoded(stored, _decode_number)


def _decoded(stored: Stored, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(stored.data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(
            f"look-up {stored.id} cannot be decoded: call admin.repair() ({error})"
        ) from error


def copied_value(tree: str, log: str, key: str, n: int, value: bytes) -> Stored:
    """Give the copy of a document's value for a fork."""
    named = value_key(tree, log, key, n)
    return Stored(kind=Kind.LOOKUP, id=named.id, shard=named.shard, data=value)

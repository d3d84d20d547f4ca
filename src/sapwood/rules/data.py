"""Data at positions, encoded: with a batch of messages, or as a mark, which has nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ..errors import MessageTooLargeError, UsageError
from .codec import MARK_ROLE, Packed, decode_json, encode_json
from .ids import check_name
from .wording import a_kind

_encode_canonical = msgspec.json.Encoder(order="deterministic").encode


def with_data(
    batch: Sequence[Packed],
    data: dict[str, Any],
    id: str | None,
    new_id: Callable[[], str],
    max_bytes: int,
) -> list[Packed]:
    """Return a batch whose last message has data; of an empty one, a mark."""
    if not isinstance(data, dict):
        raise UsageError(f"data must be a dict, not {a_kind(data)}", path="data")
    encoded = encode_json(data, "data")
    if id is not None:
        check_name(id, "id")
    last = batch[-1] if batch else _mark(new_id() if id is None else id, is_ours=id is None)
    size = len(last.body) + len(encoded)
    if size > max_bytes:
        raise MessageTooLargeError(
            f"the message and its data have {size} bytes and the limit is {max_bytes}: "
            "store large content elsewhere and keep a reference to it",
            path="data",
        )
    return [*batch[:-1], replace(last, data=encoded)]


def mark_of(id: str, data: bytes) -> Packed:
    """Return a mark that was made here, which has data that is stored already."""
    return replace(_mark(id, is_ours=True), data=data)


def _mark(id: str, *, is_ours: bool) -> Packed:
    return Packed(
        id=id,
        role=MARK_ROLE,
        parts=[],
        metadata={},
        body=b"",
        tokens=0,
        is_ours=is_ours,
    )


def is_same_data(stored: bytes | None, given: bytes | None) -> bool:
    """Whether two values are the same, whatever the order of keys in their objects."""
    if stored is None or given is None or stored == given:
        return stored == given
    return _canonical(stored) == _canonical(given)


def _canonical(data: bytes) -> bytes:
    canonical: bytes = _encode_canonical(decode_json(data, "data"))
    return canonical


def without_field(data: bytes, field: str) -> bytes:
    """Return data without one of its fields; the same object when it does not have it."""
    value = decode_json(data, "data")
    if field not in value:
        return data
    return encode_json({name: it for name, it in value.items() if name != field}, "data")

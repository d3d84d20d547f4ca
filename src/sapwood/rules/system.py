"""What the layers above keep of a session: how it is stored, merged, and found by its key.

A part of a key may be any text, of any length. What is indexed is the digest of each part, one
after the other: all digests are of one length, so that the digests of some parts are a prefix of
those of every key that begins with these parts, and of no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict, replace

from ..errors import StoreCorruptError
from ..model import SystemFields, SystemPatch

MOST_PARTS = 4
PART_BYTES = 20
KEY_BYTES = MOST_PARTS * PART_BYTES
NO_SYSTEM = SystemFields()
NOTHING = b"{}"
"""What is stored where nothing is kept."""

encode_system = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(SystemFields).decode


def decode_system(data: bytes, where: str) -> SystemFields:
    """Decode what is stored; what is no such record is an error that says where."""
    if data == NOTHING:
        return NO_SYSTEM
    try:
        return _decode(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(f"`system` of {where} cannot be read: {error}") from error


def merged(held: SystemFields, patch: SystemPatch) -> SystemFields:
    """Return the fields with those that a patch gives."""
    given: dict[str, Any] = {name: it for name, it in asdict(patch).items() if it is not UNSET}
    return replace(held, **given)


def key_digest(key: Sequence[str]) -> bytes:
    """Return what a key, or the beginning of one, is found by; nothing for an empty key."""
    return b"".join(hashlib.sha256(part.encode()).digest()[:PART_BYTES] for part in key)


def begins_with(key: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a key begins with these parts."""
    return tuple(key[: len(parts)]) == tuple(parts)

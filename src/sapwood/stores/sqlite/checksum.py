"""A checksum in the row of all that somebody said: what a disk made of it is never taken for it."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import apsw
import msgspec

_encode = msgspec.msgpack.Encoder().encode


def checksum(values: tuple[Any, ...]) -> int:
    """Sum up the values of a row. It is stored: it may never come out differently."""
    return crc32(_encode(values))


def add_checksum_function(raw: apsw.Connection) -> None:
    """Let statements that make rows of rows sum them up, as `checksum_of(value, ...)`."""
    raw.create_scalar_function("checksum_of", lambda *values: checksum(values), deterministic=True)

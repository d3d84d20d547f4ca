"""Overlays as they are stored."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...errors import StoreCorruptError
from ...model import Overlay, Position
from ...rules.codec import decode_json


class OverlayDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What of an overlay is not in its range."""

    covered_tokens: int
    created_by: str
    created_us: int
    metadata: msgspec.Raw


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(OverlayDetails).decode


class OverlayRange(NamedTuple):
    """An overlay's range, tokens and id."""

    first_segment: int
    first: int
    last_segment: int
    last: int
    tokens: int
    id: str

    def __str__(self) -> str:
        return " ".join(map(str, self))

    def member(self, number: str) -> str:
        """Name it in a session's index: by its end, then the widest, then the newest."""
        rank = 9_999_999_999 - self.first
        return f"{self.last_segment:012d}{self.last:010d}{rank:010d}{number}"


def range_of(text: bytes) -> OverlayRange:
    """Read an overlay's range."""
    first_segment, first, last_segment, last, tokens, id = text.decode().split(" ", 5)
    return OverlayRange(
        int(first_segment), int(first), int(last_segment), int(last), int(tokens), id
    )


def encode_overlay(covering: OverlayDetails, summary: str) -> bytes:
    """Encode the rest of an overlay; what its size counts comes last."""
    return _encode(covering) + b"\n" + summary.encode()


def overlay_of(range: bytes, stored: bytes) -> Overlay:
    """Make an overlay of what is stored."""
    found = range_of(range)
    head, _, summary = stored.partition(b"\n")
    try:
        rest = _decode(head)
        text = summary.decode()
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(f"overlay {found.id!r} cannot be decoded: {error}") from error
    return Overlay(
        id=found.id,
        first=Position(str(found.first_segment), found.first),
        last=Position(str(found.last_segment), found.last),
        summary=text,
        tokens=found.tokens,
        covered_tokens=rest.covered_tokens,
        metadata=decode_json(bytes(rest.metadata), f"the metadata of overlay {found.id!r}"),
        created_by=rest.created_by,
        created_us=rest.created_us,
    )

"""An entry of a segment: what stands before its body, and the message that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from ...errors import StoreCorruptError
from ...model import Entry, Message, Position
from ...rules.codec import Body, decode_body

SEP = "\x1f"
MARK = "mark"
"""The role that the entry of a mark has, which has no body; that of a deleted message has none."""


class EntryHead(NamedTuple):
    """What stands before the body of an entry; `raw` sums the tokens as they were appended."""

    tokens: int
    version: int
    created_us: int
    raw: int
    data: str
    """Where the data stands that holds there: segment and depth, or nothing."""
    role: str
    id: str

    def with_body(self, body: bytes) -> bytes:
        """Return the entry."""
        sum = f"{self.raw} {self.data}" if self.data else self.raw
        fields = (self.tokens, self.version, self.created_us, sum, self.role, self.id)
        return SEP.join(map(str, fields)).encode() + b"\n" + body


def split_entry(entry: bytes) -> tuple[EntryHead, bytes]:
    """Split an entry into what stands before its body, and the body; empty when deleted."""
    head, _, body = entry.partition(b"\n")
    try:
        tokens, version, created, sum, role, id = head.decode().split(SEP)
        raw, _, data = sum.partition(" ")
        position_of(data)
        return EntryHead(int(tokens), int(version), int(created), int(raw), data, role, id), body
    except ValueError as error:
        raise StoreCorruptError(f"an entry cannot be read: {error}") from error


def is_mark(entry: bytes) -> bool:
    """Whether an entry is that of a mark."""
    return entry.endswith(b"\n") and split_entry(entry)[0].role == MARK


def position_of(place: str) -> Position | None:
    """Return a position of its segment and depth; None of nothing."""
    if not place:
        return None
    segment, depth = place.split(" ")
    return Position(segment, int(depth))


def message_of(entry: bytes, segment: str, depth: int, home: str | None) -> Message | None:
    """Make a message of its entry; None when it was deleted, or is a mark."""
    found: list[Entry] = []
    take_messages([entry], segment, depth, home, found)
    return cast("Message", found[0]) if found else None


def take_messages(
    stored: Sequence[bytes],
    segment: str,
    first: int,
    home: str | None,
    into: list[Entry],
    bodies: bool = True,
) -> int:
    """Add the live messages of a run of entries; return the size of their bodies.

    Without `bodies` it stands in their place.
    """
    size = 0
    held, data_at = "", None
    for depth, entry in enumerate(stored, first):
        head, _, data = entry.partition(b"\n")
        if not data:
            continue
        size += len(data) if bodies else int(data)
        try:
            tokens, version, created, sum, role, id = head.decode().split(SEP)
            place = sum.partition(" ")[2]
            if place != held:
                held, data_at = place, position_of(place)
        except ValueError as error:
            raise StoreCorruptError(f"the entry at {segment}.{depth} cannot be read") from error
        body = decode_body(data, id) if bodies else Body([])
        into.append(
            Message(
                id=id,
                role=role,
                parts=body.parts,
                metadata=body.metadata,
                extra=body.extra,
                name=body.name,
                segment=segment,
                depth=depth,
                home=home,
                tokens=int(tokens),
                version=int(version),
                created_us=int(created),
                data_at=data_at,
            )
        )
    return size

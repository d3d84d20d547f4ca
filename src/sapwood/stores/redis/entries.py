"""Entries of segments: what is stored of each message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from ...errors import StoreCorruptError
from ...model import ROOT, Entry, Message, Root
from ...rules.codec import decode_body

SEP = "\x1f"


class EntryHead(NamedTuple):
    """What stands before the body of an entry; `raw` sums the tokens as they were appended."""

    tokens: int
    version: int
    created_us: int
    raw: int
    role: str
    id: str

    def with_body(self, body: bytes) -> bytes:
        """Return the entry."""
        return SEP.join(map(str, self)).encode() + b"\n" + body


def split_entry(entry: bytes) -> tuple[EntryHead, bytes]:
    """Split an entry into what stands before its body, and the body; empty when deleted."""
    head, _, body = entry.partition(b"\n")
    try:
        tokens, version, created, raw, role, id = head.decode().split(SEP)
        return EntryHead(int(tokens), int(version), int(created), int(raw), role, id), body
    except ValueError as error:
        raise StoreCorruptError(f"an entry cannot be read: {error}") from error


def message_of(entry: bytes, segment: str, depth: int, home: str | None) -> Message | None:
    """Make a message of its entry; None when it was deleted."""
    found: list[Entry] = []
    take_messages([entry], segment, depth, home, found)
    return cast("Message", found[0]) if found else None


def take_messages(
    stored: Sequence[bytes], segment: str, first: int, home: str | None, into: list[Entry]
) -> int:
    """Add the live messages of a run of entries; return the size of their bodies."""
    size = 0
    for depth, entry in enumerate(stored, first):
        head, _, data = entry.partition(b"\n")
        if not data:
            continue
        size += len(data)
        try:
            tokens, version, created, _, role, id = head.decode().split(SEP)
        except ValueError as error:
            raise StoreCorruptError(f"the entry at {segment}.{depth} cannot be read") from error
        body = decode_body(data, id)
        into.append(
            Message(
                id=id,
                role=role,
                parts=body.parts,
                metadata=body.metadata,
                segment=segment,
                depth=depth,
                home=home,
                tokens=int(tokens),
                version=int(version),
                created_us=int(created),
            )
        )
    return size


def name_of(home: bytes | None) -> str | None:
    """Return the name of a home's session; None when it is gone."""
    return None if home is None else home.decode()


def id_or_root(id: bytes) -> str | Root:
    """Return a message's id; an empty one stands for the root."""
    return id.decode() if id else ROOT

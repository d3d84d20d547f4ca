"""Entries: that there is a session of this name, or an owner who has more than sessions."""

from __future__ import annotations

import msgspec

from ...errors import StoreCorruptError
from .log_documents import LogDocument, LogKey, LogKind, entry_key, owner_key


class LogEntry(msgspec.Struct, frozen=True, array_like=True):
    """What an entry names; an owner's own has no session."""

    owner: str
    session: str = ""
    k: int = 0
    tree: str = ""
    log: str = ""
    ended: int = 0
    """The record by which it was deleted, once that and what it left behind are done with."""

    @property
    def key(self) -> LogKey:
        """Its name."""
        if not self.session:
            return owner_key(self.owner)
        return entry_key(self.owner, self.session, self.k)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(LogEntry).decode


def stored_entry(entry: LogEntry) -> LogDocument:
    """Return an entry as it is stored."""
    key = entry.key
    return LogDocument(
        kind=LogKind.ENTRY, id=key.id, shard=key.shard, owner=entry.owner, data=_encode(entry)
    )


def void_entry(shard: str, id: str) -> LogDocument:
    """Return an entry that keeps anybody from making a session of it."""
    return LogDocument(kind=LogKind.ENTRY, id=id, shard=shard, data=b"")


def entry_of(stored: LogDocument) -> LogEntry | None:
    """Read an entry; None for one that is void or was emptied."""
    if not stored.data:
        return None
    try:
        return _decode(stored.data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StoreCorruptError(f"entry {stored.id} cannot be decoded: {error}") from error

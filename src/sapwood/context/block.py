"""Blocks as they are read, and the document that a stored one is kept in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ..model import Document, datetime_of
from ..rules.codec import decode_stored

KEPT = 20
KEPT_BYTES = 1_000_000


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block as it is now.

    `version` counts only for stored blocks, where 0 means that nothing was written yet; it is None
    for others. `origin` says who wrote the content ("user", "model", "default", "provider"), and
    `by` in which session. `error` is set in a list of blocks when the provider could not be read.
    """

    label: str
    description: str | None
    content: str
    tokens: int
    max_tokens: int | None
    writable: bool
    loadable: bool
    searchable: bool
    version: int | None
    origin: str
    by: str | None = None
    error: str | None = None


class BlockVersion(msgspec.Struct, frozen=True, kw_only=True):
    """What a stored block held, and since when; `undone` says that it was taken back."""

    version: int
    content: str
    origin: str
    by: str | None
    at_us: int
    undone: bool = False

    @property
    def at(self) -> datetime:
        """When it was written, by the store's clock."""
        return datetime_of(self.at_us)


class EarlierContent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the block held before; no content means the default."""

    version: int
    content: str | None
    origin: str
    at_us: int
    by: str | None = None
    undone: bool = False


class StoredBlock(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A block's document: the content with all that came before, so that a write is one swap."""

    content: str | None
    origin: str
    by: str | None = None
    earlier: list[EarlierContent] = []


class HeldBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block's document as it was read; version 0 means that there is none."""

    stored: StoredBlock
    version: int = 0
    updated_us: int = 0


NOTHING = HeldBlock(stored=StoredBlock(content=None, origin="default"))

_decode = msgspec.json.Decoder(StoredBlock).decode


def held_block_in(document: Document | None) -> HeldBlock:
    """Read a block's document; one that cannot be decoded is `StoreCorruptError`."""
    if document is None:
        return NOTHING
    stored = decode_stored(_decode, document.value, f"document {document.key!r} is no block")
    return HeldBlock(stored=stored, version=document.version, updated_us=document.updated_us)


def after_write(held: HeldBlock, content: str, origin: str, by: str | None) -> StoredBlock:
    """Return the document after a write."""
    return StoredBlock(
        content=content, origin=origin, by=by, earlier=_kept([*held.stored.earlier, _past(held)])
    )


def after_undo(held: HeldBlock) -> StoredBlock | None:
    """Return the document with the last write taken back; None when there is none to take back.

    What is taken back stays among the earlier contents, but is not gone back to again.
    """
    earlier = held.stored.earlier
    places = [at for at, each in enumerate(earlier) if not each.undone]
    if not places:
        return None
    back = earlier[places[-1]]
    rest = earlier[: places[-1]] + earlier[places[-1] + 1 :]
    taken_back = msgspec.structs.replace(_past(held), undone=True)
    return StoredBlock(
        content=back.content, origin=back.origin, by=back.by, earlier=_kept([*rest, taken_back])
    )


def _past(held: HeldBlock) -> EarlierContent:
    return EarlierContent(
        version=held.version,
        content=held.stored.content,
        origin=held.stored.origin,
        at_us=held.updated_us,
        by=held.stored.by,
    )


def _kept(earlier: Sequence[EarlierContent]) -> list[EarlierContent]:
    """Keep the newest, within their number and size: a document must fit the store."""
    room = KEPT_BYTES
    kept: list[EarlierContent] = []
    for each in reversed(earlier[-KEPT:]):
        room -= len((each.content or "").encode())
        if room < 0:
            break
        kept.append(each)
    return kept[::-1]


def versions_of(held: HeldBlock, default: str | None) -> list[BlockVersion]:
    """Return what a block held, the newest first; what was never written is left out."""
    now = _past(held)
    return [
        BlockVersion(
            version=each.version,
            content=(default or "") if each.content is None else each.content,
            origin=each.origin,
            by=each.by,
            at_us=each.at_us,
            undone=each.undone,
        )
        for each in sorted([now, *held.stored.earlier], key=lambda it: it.version, reverse=True)
        if each.version
    ]

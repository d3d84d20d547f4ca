"""Entries of a block that are kept in the store: their documents, and searching them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from ..model import Document, datetime_of
from ..rules.codec import decode_stored
from ..rules.fold import fold
from ..rules.match import MessageFacts, Query, matches, terms
from ..rules.relevance import count, is_ranked, scores
from ..rules.snippet import snippet

MOST_FOUND = 10
WHOLE = 400
SNIPPET = 240


class LoadedKey(NamedTuple):
    """An entry of a block that is loaded."""

    label: str
    key: str


class StoredEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry's document."""

    content: str
    description: str | None = None
    origin: str = "user"
    by: str | None = None


class BlockEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as it was read. `origin` says who wrote it, and `by` in which session."""

    key: str
    content: str
    description: str | None
    origin: str
    by: str | None
    updated_us: int

    @property
    def updated_at(self) -> datetime:
        """When it was written, by the store's clock."""
        return datetime_of(self.updated_us)

    @property
    def text(self) -> str:
        """All that is searched."""
        return f"{self.description}\n{self.content}" if self.description else self.content


_decode = msgspec.json.Decoder(StoredEntry).decode


def entry_in(document: Document, prefix: str) -> BlockEntry:
    """Read an entry's document; one that cannot be decoded is `StoreCorruptError`."""
    stored = decode_stored(_decode, document.value, f"document {document.key!r} is no entry")
    return BlockEntry(
        key=document.key.removeprefix(prefix),
        content=stored.content,
        description=stored.description,
        origin=stored.origin,
        by=stored.by,
        updated_us=document.updated_us,
    )


def find_entries(entries: Sequence[BlockEntry], query: Query) -> list[BlockEntry]:
    """Find entries as messages are found: the best first, of equals the newest."""
    newest = sorted(entries, key=lambda entry: (-entry.updated_us, entry.key))
    found = [
        (entry, folded)
        for entry in newest
        if matches(
            query,
            folded := fold(entry.text),
            MessageFacts(role="entry", created_us=entry.updated_us, title=entry.description),
        )
    ]
    if not is_ranked(query):
        return [entry for entry, _ in found]
    wanted = terms(query)
    ranks = scores([count(wanted, folded) for _, folded in found])
    ordered = sorted(zip(ranks, found, strict=True), key=lambda it: -it[0])
    return [entry for _, (entry, _) in ordered]


def show_found(entries: Sequence[BlockEntry], query: Query) -> str | None:
    """Show what was found: short entries whole, of long ones the passage that matches."""
    shown = [f"[{entry.key}] {_passage(entry, query)}" for entry in entries[:MOST_FOUND]]
    if len(entries) > MOST_FOUND:
        shown.append(f"{len(entries) - MOST_FOUND} more were found: say more of what you look for.")
    return "\n\n".join(shown) or None


def _passage(entry: BlockEntry, query: Query) -> str:
    head = f"{entry.description}\n" if entry.description else ""
    if len(entry.content) <= WHOLE:
        return head + entry.content
    return head + snippet(entry.content, terms(query), SNIPPET).text

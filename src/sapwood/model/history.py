"""What is read: histories, their entries, and the overlays that shorten them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from .message import Message, Position, Root, _Dated


class Overlay(_Dated, msgspec.Struct, frozen=True, kw_only=True):
    """A summary that stands in for a range of a path. The messages under it stay."""

    id: str
    first: Position
    last: Position
    summary: str
    tokens: int
    covered_tokens: int
    metadata: dict[str, Any]
    created_by: str
    created_us: int


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The synthetic entry by which a history shows an overlay, and the pins shown after it."""

    overlay: Overlay
    pinned: list[Message] = []

    @property
    def text(self) -> str:
        """The summary's text."""
        return self.overlay.summary

    @property
    def tokens(self) -> int:
        """What the entry costs in the context, its pins included."""
        return self.overlay.tokens + sum(message.tokens for message in self.pinned)

    @property
    def depth(self) -> int:
        """The depth of the last message that it covers."""
        return self.overlay.last.depth


Entry = Message | Summary


class EntryRef(msgspec.Struct, frozen=True, kw_only=True):
    """Names an entry of a history. Messages and overlays do not share an id space."""

    kind: Literal["message", "overlay"]
    id: str

    @classmethod
    def of(cls, entry: Entry | EntryRef | str) -> EntryRef:
        """Name an entry; a plain string is a message's id."""
        if isinstance(entry, EntryRef):
            return entry
        if isinstance(entry, Summary):
            return cls(kind="overlay", id=entry.overlay.id)
        return cls(kind="message", id=entry.id if isinstance(entry, Message) else entry)


class Fence(msgspec.Struct, frozen=True, kw_only=True):
    """A lease that a write depends on: the session's document `key`, at this version."""

    key: str
    version: int


class NewOverlay(msgspec.Struct, frozen=True, kw_only=True):
    """An overlay to add, over the entries from `first` to `last` as visible at `leaf`.

    `snapshot` is that of the history it was made from: the overlay is refused when a message in
    the range was edited or deleted since.
    """

    first: EntryRef
    last: EntryRef
    summary: str
    tokens: int | None = None
    metadata: dict[str, Any] = {}
    leaf: str | None = None
    snapshot: str | None = None
    id: str | None = None


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What to read of a path; without a leaf, of the path to the tip.

    `after` and `before` are depths, exclusive. `limit` and `max_bytes` cut the end, or the start
    when reading `backwards`; entries come in path order either way. At least one entry is given,
    however large. Without `bodies`, messages have no parts, metadata, extra or name.
    """

    leaf: str | Root | None = None
    overlays: bool = True
    limit: int | None = None
    max_bytes: int | None = None
    after: int = 0
    before: int | None = None
    backwards: bool = False
    bodies: bool = True


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A path as it is shown, from one snapshot.

    `more` says that a limit cut entries off; `bytes` is the stored size of the entries given;
    `context_tokens` counts all that is visible at the leaf, not only these entries. `data_at` is
    where the version of the data stands that holds at the leaf.
    """

    entries: list[Entry]
    leaf: str | Root
    tip: str | Root
    context_tokens: int
    more: bool
    bytes: int
    snapshot: str
    data_at: Position | None = None

    @property
    def messages_only(self) -> list[Message]:
        """The messages among the entries, without the summaries; pinned ones in their place."""
        return [
            message
            for entry in self.entries
            for message in ([entry] if isinstance(entry, Message) else entry.pinned)
        ]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: who said what, one line for each entry."""
        from .notebook import entry_rows, many, middle_left_out, page

        facts = [
            many(len(self.entries), "entry", "entries"),
            f"{self.context_tokens:,} tokens shown",
            "there is more" if self.more else "",
        ]
        return page("History", facts, middle_left_out(entry_rows(self.entries)))


class RowStatistic(msgspec.Struct, frozen=True, kw_only=True):
    """How large a message is: the stored size of its body, and its tokens."""

    id: str
    role: str
    bytes: int
    tokens: int

"""Sessions: stateful pointers into a tree."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from .message import Position, Root, _Dated, datetime_of
from .recent import Preview


class EdgeKind(enum.Enum):
    """How a session came out of another one."""

    BRANCH = "branch"
    RESET = "reset"
    CONTINUE = "continue"
    DELEGATE = "delegate"


class Edge(msgspec.Struct, frozen=True, kw_only=True):
    """A typed link to the session that this one came out of."""

    kind: EdgeKind
    session: str


class ForkPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The message of a session from which a fork goes on; without a message, from the tip.

    `detach` copies the path into a tree of its own.
    """

    session: str
    message: str | Root | None = None
    detach: bool = False


CHAT = "chat"
"""The kind of a session that is a conversation of the user's."""


class SystemFields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the layers above keep of a session: its key, and how it came to its end.

    `key` says whose session it is, from the whole to the part: agent, channel, peer, thread. `life`
    counts how often it was opened again, `next` is the session that goes on in its place, and
    `reason` says why it was closed.
    """

    key: tuple[str, ...] = ()
    life: int = 0
    next: str | None = None
    reason: str | None = None


class SystemPatch(msgspec.Struct, frozen=True, kw_only=True):
    """What to change in what the layers above keep of a session; what is not given stays."""

    key: tuple[str, ...] | UnsetType = UNSET
    life: int | UnsetType = UNSET
    next: str | UnsetType | None = UNSET
    reason: str | UnsetType | None = UNSET


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session to create.

    A fork takes kind, attributes, tags, budget, model and source from its source unless given.
    `kind` is "chat" unless given, and never changes: what is no conversation of the user's (facts,
    reviews, sub-agents) has another, and is not listed, searched or counted unless asked for.
    `created_us` is for one that began elsewhere before; without it, it is the store's clock.
    """

    id: str
    title: str | None = None
    kind: str | UnsetType = UNSET
    state: str = "active"
    tags: list[str] | UnsetType = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET
    budget: int | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET
    source: str | UnsetType | None = UNSET
    end_reason: str | None = None
    system: SystemFields = SystemFields()
    parent: Edge | None = None
    fork: ForkPoint | None = None
    created_us: int | None = None


class SessionPatch(msgspec.Struct, frozen=True, kw_only=True):
    """What to change in a session's record; what is not given stays.

    `attributes` replaces them all. `merge` changes some: a JSON merge patch (RFC 7396), in which
    null takes a field out. A session that is closed takes no more messages. `active_us` is when it
    was active last, for one that began elsewhere or is opened again.
    """

    title: str | UnsetType | None = UNSET
    state: str | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET
    merge: dict[str, Any] | UnsetType = UNSET
    budget: int | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET
    source: str | UnsetType | None = UNSET
    end_reason: str | UnsetType | None = UNSET
    closed: bool | UnsetType = UNSET
    system: SystemPatch | UnsetType = UNSET
    active_us: int | UnsetType = UNSET


class SessionRecord(_Dated, msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is stored.

    `messages` counts the live messages that this session wrote, on all its branches. `version`
    counts changes of the record, and of what its context is measured by (a report of usage for a
    message, another prompt), and not appends. `context_tokens` estimates what the model is
    shown at the tip. `budget` is the session's token budget. `attributes` are free fields; `model`,
    `source` (where its user is: a channel, a program) and `end_reason` are names that are kept for
    whoever asks. A `closed` session refuses appends, edits, overlays and checkouts. `system` is
    what the layers above keep of it. `updated_us` is when its record or one of its messages was
    last written through it, by the store's clock, to the second at least. `data_at` is where the
    version of the data stands that holds at the tip; None when there is none. `preview` and
    `unread` are in listings that ask for them, and None elsewhere.
    """

    id: str
    tip: str | Root
    tip_position: Position | None
    title: str | None
    kind: str
    state: str
    tags: list[str]
    attributes: dict[str, Any]
    budget: int | None
    model: str | None
    source: str | None
    end_reason: str | None
    closed: bool
    system: SystemFields
    parent: Edge | None
    forked_at: Position | None
    messages: int
    context_tokens: int
    version: int
    created_us: int
    active_us: int
    updated_us: int
    data_at: Position | None = None
    preview: Preview | None = None
    unread: int | None = None

    @property
    def updated_at(self) -> datetime:
        """When its record, or a message, was last written."""
        return datetime_of(self.updated_us)

    @property
    def active_at(self) -> datetime:
        """When its last appended message was said, or it was created; or what a patch says."""
        return datetime_of(self.active_us)


RECORD_FIELDS = tuple(
    name
    for name in SessionPatch.__struct_fields__
    if name in SessionRecord.__struct_fields__ and name != "active_us"
)
"""The fields of a record that a patch can give anew, but for its activity: that moves by itself."""


class UpdatedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it is after an update, and the versions of the documents that came along."""

    record: SessionRecord
    documents: dict[str, int] = {}


class SessionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to list. All filters must match; `tags` all have to be there.

    Listed are those of the kind "chat", unless another is given; None is for all kinds. Newest
    first, or with `reverse` oldest first. When a session was active, or written to, is ordered by
    the second; within a second, by creation. `cursor` continues after the page that gave it, under
    the same filters and order. `key` finds the sessions whose key in `system` begins with these
    parts, all of them whole ones.
    """

    kind: str | None = CHAT
    state: str | None = None
    tags: list[str] = []
    key: tuple[str, ...] = ()
    title_prefix: str | None = None
    parent: str | None = None
    created_from: datetime | None = None
    created_until: datetime | None = None
    active_from: datetime | None = None
    active_until: datetime | None = None
    order: Literal["active", "created", "updated"] = "active"
    reverse: bool = False
    limit: int = 50
    cursor: str | None = None


class SessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of sessions; `cursor` leads to the next one, None means that there is none."""

    sessions: list[SessionRecord]
    cursor: str | None

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a table."""
        from .notebook import MOST_ROWS, many, minute, note, page, table

        rows = [
            [
                it.id,
                it.title or "",
                str(it.messages),
                minute(it.active_at),
                f"{it.preview.name or it.preview.role}: {it.preview.text}" if it.preview else "",
            ]
            for it in self.sessions[:MOST_ROWS]
        ]
        more = "there are more" if self.cursor or len(self.sessions) > MOST_ROWS else ""
        titles = ["session", "title", "messages", "active", "last"]
        body = [table(titles, rows)] if rows else [note("none")]
        return page("Sessions", [many(len(self.sessions), "session"), more], body)


class OwnedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session, and whose it is."""

    owner: str
    session: SessionRecord


class OwnedSessionPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of several owners' sessions; `cursor` leads to the next one, None is for no more."""

    sessions: list[OwnedSession]
    cursor: str | None

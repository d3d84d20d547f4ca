"""The smaller records: documents, usage, changes, statistics, problems."""

from __future__ import annotations

import enum
from datetime import datetime

import msgspec

from .message import Position, datetime_of


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A keyed value of an owner or a session. A version is never used twice."""

    key: str
    value: bytes
    version: int
    updated_us: int
    created_us: int
    """When it was first put since it was last not there; a replacement and a copy keep it."""
    expires_us: int | None
    inherit: bool = True
    """Whether forks of its session get a copy of it."""

    @property
    def expires_at(self) -> datetime | None:
        """When it stops being found, by the store's clock."""
        return None if self.expires_us is None else datetime_of(self.expires_us)


class DocumentPut(msgspec.Struct, frozen=True, kw_only=True):
    """A document of a session to put; what is expected of the stored one is as for a put alone.

    One that is not to be inherited is not copied by forks, and goes when the session is cleared.
    """

    key: str
    value: bytes
    expected_version: int | None = None
    expires_in_s: float | None = None
    inherit: bool = True


class DocumentDelete(msgspec.Struct, frozen=True, kw_only=True):
    """A document of a session to delete; at version 0 it must not be there, or be expired."""

    key: str
    expected_version: int | None = None


DocumentChange = DocumentPut | DocumentDelete


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What one model call cost; counted once by its id. `cost_micros` is in millionths."""

    id: str
    model: str = ""
    message: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_micros: int = 0


class UsageTotal(msgspec.Struct, frozen=True, kw_only=True):
    """The sum of a session's usage for one model; asked by message, for that message alone."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    cost_micros: int
    message: str | None = None


class ChangeKind(enum.Enum):
    """What happened: to a message, to all that a session wrote, or to a session's record."""

    APPEND = "append"
    UPDATE = "update"
    DELETE = "delete"
    RETIRE = "retire"
    RECORD = "record"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the change feed.

    RETIRE (a session deleted or cleared) and RECORD (a session's record made or changed) name no
    message and have no position. The version is that of the message, or else of the record: as the
    change made it, or a later one. `tree` is opaque, and the same for all sessions of a tree.
    """

    kind: ChangeKind
    session: str
    message: str | None
    tree: str
    position: Position | None
    version: int
    at_us: int

    @property
    def depth(self) -> int | None:
        """The depth of the message's position."""
        return None if self.position is None else self.position.depth


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the change feed, and the cursor that continues it."""

    changes: list[Change]
    cursor: str
    more: bool


class ChangedOwners(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the owners that changed, by name, and the cursor that continues with the next."""

    owners: list[str]
    cursor: str
    more: bool


class SessionCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many sessions of a kind are in a state."""

    kind: str
    state: str
    sessions: int


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """What an owner has, in numbers.

    `sessions` and `messages` are of the kind "chat"; `counts` has the sessions of all kinds.
    """

    sessions: int
    messages: int
    overlays: int
    documents: int
    counts: list[SessionCount] = []


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How a store is: which one, its version, and whether it can be written."""

    store: str
    version: str
    writable: bool


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a check found wrong, and where."""

    kind: str
    where: str
    what: str

"""What can be done inside one unit of work: an embedded store implements these, by subject.

Arguments were checked by the facade. The contract's text stands on `AsyncStore`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from ...model import (
    Appended,
    Changes,
    Deleted,
    Document,
    Fence,
    Gap,
    Health,
    History,
    Hits,
    Leaf,
    Message,
    NewOverlay,
    NewSession,
    Overlay,
    Problem,
    Read,
    Root,
    Search,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
    Usage,
    UsageTotal,
)
from ...rules.codec import Packed
from ...rules.query import Query


class Sessions(Protocol):
    """Work on sessions."""

    @abstractmethod
    def create(self, owner: str, new: NewSession) -> SessionRecord: ...
    @abstractmethod
    def find(self, owner: str, session: str) -> SessionRecord | None: ...
    @abstractmethod
    def update(
        self, owner: str, session: str, patch: SessionPatch, expected_version: int | None
    ) -> SessionRecord: ...
    @abstractmethod
    def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord: ...
    @abstractmethod
    def list_page(self, owner: str, query: SessionQuery) -> SessionPage: ...
    @abstractmethod
    def delete(self, owner: str, session: str) -> None: ...
    @abstractmethod
    def clear(self, owner: str, session: str) -> SessionRecord: ...
    @abstractmethod
    def erase_owner(self, owner: str) -> None: ...
    @abstractmethod
    def statistics(self, owner: str) -> Statistics: ...


class Messages(Protocol):
    """Work on messages."""

    @abstractmethod
    def append(
        self,
        owner: str,
        session: str,
        batch: Sequence[Packed],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Appended: ...
    @abstractmethod
    def update(self, owner: str, session: str, message: Packed) -> Message: ...
    @abstractmethod
    def delete(self, owner: str, session: str, ids: Sequence[str]) -> Deleted: ...
    @abstractmethod
    def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]: ...
    @abstractmethod
    def read(self, owner: str, session: str, query: Read) -> History: ...
    @abstractmethod
    def children(self, owner: str, session: str, message: str | Root) -> list[Message]: ...
    @abstractmethod
    def leaves(self, owner: str, session: str) -> list[Leaf]: ...
    @abstractmethod
    def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]: ...


class Overlays(Protocol):
    """Work on overlays. `tokens` is the summary's, counted or estimated."""

    @abstractmethod
    def add(
        self, owner: str, session: str, new: NewOverlay, id: str, tokens: int, fence: Fence | None
    ) -> Overlay: ...
    @abstractmethod
    def in_force(self, owner: str, session: str) -> list[Overlay]: ...
    @abstractmethod
    def undo(self, owner: str, session: str, overlay: str) -> Overlay: ...


class Documents(Protocol):
    """Work on documents; a session of None means the owner's own."""

    @abstractmethod
    def find(self, owner: str, session: str | None, key: str) -> Document | None: ...
    @abstractmethod
    def put(
        self,
        owner: str,
        session: str | None,
        key: str,
        value: bytes,
        expected_version: int | None,
        expires_in_us: int | None,
    ) -> Document: ...
    @abstractmethod
    def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool: ...
    @abstractmethod
    def list_prefix(self, owner: str, session: str | None, prefix: str) -> list[Document]: ...


class Searches(Protocol):
    """Work on searching; the query is what the search's text means."""

    @abstractmethod
    def search(self, owner: str, search: Search, query: Query) -> Hits: ...


class Usages(Protocol):
    """Work on usage."""

    @abstractmethod
    def add(self, owner: str, session: str, usage: Usage) -> bool: ...
    @abstractmethod
    def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]: ...
    @abstractmethod
    def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]: ...


class Feed(Protocol):
    """Work on the change feed."""

    @abstractmethod
    def changes(self, owner: str, after: str, limit: int) -> Changes: ...
    @abstractmethod
    def register(self, owner: str, reader: str, after: str) -> None: ...


class Admin(Protocol):
    """Work on the store as a whole."""

    @abstractmethod
    def health(self) -> Health: ...
    @abstractmethod
    def schema_version(self) -> int: ...
    @abstractmethod
    def check(self) -> list[Problem]: ...
    @abstractmethod
    def repair(self) -> None: ...
    @abstractmethod
    def owners(self) -> list[str]: ...


class Unit(Protocol):
    """All that a unit of work can do."""

    @property
    def sessions(self) -> Sessions: ...
    @property
    def messages(self) -> Messages: ...
    @property
    def overlays(self) -> Overlays: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def search(self) -> Searches: ...
    @property
    def usage(self) -> Usages: ...
    @property
    def feed(self) -> Feed: ...
    @property
    def admin(self) -> Admin: ...

"""What can be done inside one unit of work: a store implements these, by subject.

Arguments were checked by the facade. The contract's text stands on `AsyncStore`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from ....model import (
    Appended,
    ChangedOwners,
    Changes,
    DataVersion,
    Deleted,
    Document,
    Fence,
    Gap,
    Health,
    History,
    Hits,
    Leaf,
    Message,
    MessagePage,
    NewOverlay,
    NewSession,
    Overlay,
    OwnedSessionPage,
    Position,
    Problem,
    Read,
    Recent,
    Root,
    Search,
    SessionPage,
    SessionQuery,
    SessionRecord,
    Statistics,
    UpdatedMessage,
    UpdatedSession,
    Usage,
    UsageTotal,
)
from ....rules.codec import Packed
from ....rules.key_range import KeyRange
from ....rules.query import Query
from ....rules.rewriting import Replacement
from ..append_request import Request
from ..extras import DocumentWrite, Extras


class AsyncSessionWork(Protocol):
    """Work on sessions."""

    @abstractmethod
    async def create(self, owner: str, new: NewSession) -> SessionRecord: ...
    @abstractmethod
    async def find(self, owner: str, session: str) -> SessionRecord | None: ...
    @abstractmethod
    async def update(
        self, owner: str, session: str, expected_tip: str | Root | None, extras: Extras
    ) -> UpdatedSession: ...
    @abstractmethod
    async def checkout(
        self,
        owner: str,
        session: str,
        message: str | Root,
        expected_tip: str | Root | None,
        fences: Sequence[Fence],
    ) -> SessionRecord: ...
    @abstractmethod
    async def list_page(self, owner: str, query: SessionQuery) -> SessionPage: ...
    @abstractmethod
    async def list_of_all(self, query: SessionQuery) -> OwnedSessionPage: ...
    @abstractmethod
    async def delete(self, owner: str, session: str, expected_version: int | None) -> None: ...
    @abstractmethod
    async def clear(self, owner: str, session: str, mark: str | None) -> SessionRecord: ...
    @abstractmethod
    async def erase_owner(self, owner: str) -> None: ...
    @abstractmethod
    async def statistics(self, owner: str) -> Statistics: ...


class AsyncMessageWork(Protocol):
    """Work on messages."""

    @abstractmethod
    async def append(self, request: Request) -> Appended: ...
    @abstractmethod
    async def update(
        self,
        owner: str,
        session: str,
        message: Packed,
        expected_tip: str | Root | None,
        extras: Extras,
    ) -> UpdatedMessage: ...
    @abstractmethod
    async def delete(
        self, owner: str, session: str, ids: Sequence[str], fences: Sequence[Fence]
    ) -> Deleted: ...
    @abstractmethod
    async def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]: ...
    @abstractmethod
    async def parents(
        self, owner: str, session: str, ids: Sequence[str]
    ) -> list[str | Root | None]: ...
    @abstractmethod
    async def recent(
        self, owner: str, sessions: Sequence[str], key: str | None
    ) -> list[Recent | None]: ...
    @abstractmethod
    async def homes(self, owner: str, message: str) -> list[str]: ...
    @abstractmethod
    async def list_page(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> MessagePage: ...
    @abstractmethod
    async def read(self, owner: str, session: str, query: Read) -> History: ...
    @abstractmethod
    async def children(self, owner: str, session: str, message: str | Root) -> list[Message]: ...
    @abstractmethod
    async def leaves(self, owner: str, session: str) -> list[Leaf]: ...
    @abstractmethod
    async def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]: ...


class AsyncDataWork(Protocol):
    """Work on data at positions."""

    @abstractmethod
    async def versions(
        self, owner: str, session: str, position: Position, most: int
    ) -> list[DataVersion]: ...
    @abstractmethod
    async def erase(self, owner: str, session: str, field: str) -> int: ...


class AsyncOverlayWork(Protocol):
    """Work on overlays. `tokens` is the summary's, counted or estimated."""

    @abstractmethod
    async def add(
        self,
        owner: str,
        session: str,
        new: NewOverlay,
        id: str,
        tokens: int,
        fences: Sequence[Fence],
    ) -> Overlay: ...
    @abstractmethod
    async def in_force(self, owner: str, session: str) -> list[Overlay]: ...
    @abstractmethod
    async def undo(
        self, owner: str, session: str, overlay: str, fences: Sequence[Fence]
    ) -> Overlay: ...


class AsyncDocumentWork(Protocol):
    """Work on documents; a session of None means the owner's own."""

    @abstractmethod
    async def find(self, owner: str, session: str | None, key: str) -> Document | None: ...
    @abstractmethod
    async def put(self, owner: str, session: str | None, new: DocumentWrite) -> Document: ...
    @abstractmethod
    async def put_all(self, owner: str, session: str, extras: Extras) -> dict[str, int]: ...
    @abstractmethod
    async def renew(
        self,
        owner: str,
        session: str | None,
        key: str,
        expected_version: int,
        expires_in_us: int,
    ) -> Document: ...
    @abstractmethod
    async def delete(
        self, owner: str, session: str | None, key: str, expected_version: int | None
    ) -> bool: ...
    @abstractmethod
    async def delete_prefix(self, owner: str, session: str | None, prefix: str) -> int: ...
    @abstractmethod
    async def list_range(
        self, owner: str, session: str | None, asked: KeyRange, values: bool
    ) -> list[Document]: ...


class AsyncRewriteWork(Protocol):
    """Work on things that are written anew as they lie."""

    @abstractmethod
    async def replace(
        self, owner: str, session: str | None, changes: Sequence[Replacement]
    ) -> list[int]:
        """Replace what is still as it was given; return the places in the list of the others."""

    @abstractmethod
    async def list_data(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> list[DataVersion]:
        """List versions that a session wrote, or sees of homes that are gone, by position."""


class AsyncSearchWork(Protocol):
    """Work on searching; the query is what the search's text means."""

    @abstractmethod
    async def search(self, owner: str, search: Search, query: Query) -> Hits: ...


class AsyncUsageWork(Protocol):
    """Work on usage."""

    @abstractmethod
    async def add(self, owner: str, session: str, usage: Usage) -> bool: ...
    @abstractmethod
    async def totals_by_model(self, owner: str, session: str) -> list[UsageTotal]: ...
    @abstractmethod
    async def totals_by_message(self, owner: str, session: str) -> list[UsageTotal]: ...


class AsyncFeedWork(Protocol):
    """Work on the change feed."""

    @abstractmethod
    async def changes(self, owner: str, after: str, limit: int) -> Changes: ...
    @abstractmethod
    async def newest(self, owner: str) -> str: ...
    @abstractmethod
    async def register(self, owner: str, reader: str, after: str) -> None: ...
    @abstractmethod
    async def forget(self, owner: str, reader: str) -> bool: ...


class AsyncAdminWork(Protocol):
    """Work on the store as a whole."""

    @abstractmethod
    async def health(self) -> Health: ...
    @abstractmethod
    async def schema_version(self) -> int: ...
    @abstractmethod
    async def check(self) -> list[Problem]: ...
    @abstractmethod
    async def owners(self) -> list[str]: ...
    @abstractmethod
    async def changed_owners(self, after: str, limit: int) -> ChangedOwners: ...


class AsyncUnit(Protocol):
    """All that a unit of work can do."""

    @property
    def sessions(self) -> AsyncSessionWork: ...
    @property
    def messages(self) -> AsyncMessageWork: ...
    @property
    def data(self) -> AsyncDataWork: ...
    @property
    def overlays(self) -> AsyncOverlayWork: ...
    @property
    def documents(self) -> AsyncDocumentWork: ...
    @property
    def rewriting(self) -> AsyncRewriteWork: ...
    @property
    def search(self) -> AsyncSearchWork: ...
    @property
    def usage(self) -> AsyncUsageWork: ...
    @property
    def feed(self) -> AsyncFeedWork: ...
    @property
    def admin(self) -> AsyncAdminWork: ...

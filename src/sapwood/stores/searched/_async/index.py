"""What a search index does. It is told what to hold, and gives candidates; a store decides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ....model import Overlay
from ..entry import (
    CandidateOrder,
    EntryFilter,
    FeedMark,
    IndexedSummaries,
    IndexEntry,
    SearchCandidate,
    SearchQuestion,
)


class AsyncSearchIndex(ABC):
    """A search index: derived data, of any number of owners, each apart from the others.

    What was put or removed is seen by a search that begins after the call. Any call but `find_mark`
    may raise `IndexGoneError`; all raise `StoreError` when the index cannot be reached.
    """

    @abstractmethod
    async def make_ready(self) -> None:
        """Make the index if it is not there; several may do so at once.

        Raises `SchemaTooNewError` for one that a newer sapwood made.
        """

    @abstractmethod
    async def find_mark(self, owner: str) -> FeedMark | None:
        """Find how far an owner's feed was followed; make the index if it is not there."""

    @abstractmethod
    async def put_mark(self, owner: str, cursor: str, known: FeedMark | None) -> bool:
        """Put a mark in place of the known one; return whether that was still there."""

    @abstractmethod
    async def put(self, owner: str, entries: Sequence[IndexEntry]) -> None:
        """Index messages; one that is there in a later version, or was just removed, stays so."""

    @abstractmethod
    async def remove(self, owner: str, keys: Sequence[str]) -> None:
        """Remove entries by their keys; what is not there is passed over."""

    @abstractmethod
    async def find_summaries(
        self, owner: str, sessions: Sequence[str]
    ) -> dict[str, IndexedSummaries]:
        """Find what is indexed of the summaries of sessions."""

    @abstractmethod
    async def put_summaries(
        self, owner: str, session: str, overlays: Sequence[Overlay], known: IndexedSummaries | None
    ) -> bool:
        """Put a session's summaries in place of the known ones; return whether those were there."""

    @abstractmethod
    async def search(
        self, owner: str, question: SearchQuestion, size: int, below: CandidateOrder | None
    ) -> list[SearchCandidate]:
        """Return candidates below one, the newest first: all that match, and maybe more."""

    @abstractmethod
    async def sessions_with(self, owner: str, overlays: Sequence[str]) -> list[str]:
        """Return the sessions among whose summaries are those of these overlays."""

    @abstractmethod
    async def list_page(
        self, owner: str, which: EntryFilter, after: SearchCandidate | None
    ) -> list[SearchCandidate]:
        """List entries of messages, a page at a time; no page is empty but the last."""

    @abstractmethod
    async def list_summarised(self, owner: str) -> list[str]:
        """List the sessions whose summaries are indexed."""

    @abstractmethod
    async def list_owners(self) -> list[str]:
        """List the owners of whom anything is indexed."""

    @abstractmethod
    async def erase(self, owner: str) -> None:
        """Remove all that an owner has, the mark included."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let go of connections."""

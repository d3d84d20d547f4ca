"""What a search index does. It is told what to hold, and gives candidates; a store decides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ....model import Overlay
from ..entry import Candidate, Entry, Mark, Question, Summarised, Which


class AsyncSearchIndex(ABC):
    """A search index: derived data, of any number of owners, each apart from the others.

    What was put or removed is seen by a search that begins after the call. Any call but `find_mark`
    may raise `IndexGoneError`; all raise `StoreError` when the index cannot be reached.
    """

    @abstractmethod
    async def find_mark(self, owner: str) -> Mark | None:
        """Find how far an owner's feed was followed; make the index if it is not there."""

    @abstractmethod
    async def put_mark(self, owner: str, cursor: str, known: Mark | None) -> bool:
        """Put a mark in place of the known one; tell whether that was still there."""

    @abstractmethod
    async def put(self, owner: str, entries: Sequence[Entry]) -> None:
        """Index messages; one that is there in a later version, or was just removed, stays so."""

    @abstractmethod
    async def remove(self, owner: str, keys: Sequence[str]) -> None:
        """Remove entries by their keys; what is not there is passed over."""

    @abstractmethod
    async def find_summaries(self, owner: str, sessions: Sequence[str]) -> dict[str, Summarised]:
        """Find what is indexed of the summaries of sessions."""

    @abstractmethod
    async def put_summaries(
        self, owner: str, session: str, overlays: Sequence[Overlay], known: Summarised | None
    ) -> bool:
        """Put a session's summaries in place of the known ones; tell whether those were there."""

    @abstractmethod
    async def search(
        self, owner: str, question: Question, size: int, after: Candidate | None
    ) -> list[Candidate]:
        """Give candidates, the newest first: all that match the query, and maybe more."""

    @abstractmethod
    async def sessions_with(self, owner: str, overlays: Sequence[str]) -> list[str]:
        """Give the sessions among whose summaries are those of these overlays."""

    @abstractmethod
    async def list_page(self, owner: str, which: Which, after: Candidate | None) -> list[Candidate]:
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

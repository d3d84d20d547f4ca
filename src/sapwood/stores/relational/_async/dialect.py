"""What a relational store brings along: its statements, by subject."""

from __future__ import annotations

from typing import Protocol

from .documents import AsyncDocumentStatements
from .feed import AsyncFeedStatements
from .fork import AsyncForkStatements
from .listing import AsyncListingStatements
from .lookup import AsyncLookupStatements
from .messages import AsyncMessageStatements
from .overlays import AsyncOverlayStatements
from .sessions import AsyncSessionStatements
from .sums import AsyncSumStatements
from .sweep import AsyncSweepStatements
from .usage import AsyncUsageStatements


class AsyncDialect(Protocol):
    """The statements of a store, on the connection of one unit of work.

    Each subject's stand beside what is decided with them, in the module of its name.
    """

    async def now(self) -> int:
        """Return the time of this unit of work, in microseconds."""

    @property
    def lookup(self) -> AsyncLookupStatements: ...
    @property
    def sums(self) -> AsyncSumStatements: ...
    @property
    def messages(self) -> AsyncMessageStatements: ...
    @property
    def overlays(self) -> AsyncOverlayStatements: ...
    @property
    def sessions(self) -> AsyncSessionStatements: ...
    @property
    def listing(self) -> AsyncListingStatements: ...
    @property
    def fork(self) -> AsyncForkStatements: ...
    @property
    def sweep(self) -> AsyncSweepStatements: ...
    @property
    def feed(self) -> AsyncFeedStatements: ...
    @property
    def documents(self) -> AsyncDocumentStatements: ...
    @property
    def usage(self) -> AsyncUsageStatements: ...

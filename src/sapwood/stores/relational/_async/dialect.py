"""What a relational store brings along: its statements, by subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....calls import AsyncAnswer
from .data import AsyncDataStatements
from .documents import AsyncDocumentStatements
from .feed import AsyncFeedStatements
from .fork import AsyncForkStatements
from .listing import AsyncListingStatements
from .lookup import AsyncLookupStatements
from .messages import AsyncMessageStatements
from .overlays import AsyncOverlayStatements
from .recent import AsyncRecentStatements
from .sessions import AsyncSessionStatements
from .sums import AsyncSumStatements
from .sweep import AsyncSweepStatements
from .usage import AsyncUsageStatements


@dataclass(kw_only=True, slots=True)
class AsyncDialect:
    """The statements of a store, on the connection of one unit of work.

    Each subject's stand beside what is decided with them, in the module of its name.
    """

    now: Callable[[], AsyncAnswer[int]]
    """Return the time of this unit of work, in microseconds."""
    lookup: AsyncLookupStatements[Any]
    sums: AsyncSumStatements[Any]
    messages: AsyncMessageStatements[Any]
    recent: AsyncRecentStatements[Any]
    data: AsyncDataStatements[Any]
    overlays: AsyncOverlayStatements[Any]
    sessions: AsyncSessionStatements[Any]
    listing: AsyncListingStatements[Any]
    fork: AsyncForkStatements
    sweep: AsyncSweepStatements[Any]
    feed: AsyncFeedStatements[Any]
    documents: AsyncDocumentStatements[Any]
    usage: AsyncUsageStatements[Any]

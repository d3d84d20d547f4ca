"""All that can be done in one unit of work and that the relational stores do alike."""

from __future__ import annotations

from .data import AsyncRelationalData
from .dialect import AsyncDialect
from .documents import AsyncRelationalDocuments
from .feed import AsyncRelationalFeed
from .messages import AsyncRelationalMessages
from .overlays import AsyncRelationalOverlays
from .rewriting import AsyncRelationalRewriting
from .sessions import AsyncRelationalSessions
from .sweep import AsyncRelationalSweep
from .usage import AsyncRelationalUsage


class AsyncRelationalUnit:
    """The subjects of work, over the statements of a store."""

    def __init__(self, dialect: AsyncDialect) -> None:
        self.sessions = AsyncRelationalSessions(dialect)
        self.messages = AsyncRelationalMessages(dialect)
        self.data = AsyncRelationalData(dialect)
        self.overlays = AsyncRelationalOverlays(dialect)
        self.rewriting = AsyncRelationalRewriting(dialect)
        self.documents = AsyncRelationalDocuments(dialect)
        self.usage = AsyncRelationalUsage(dialect)
        self.sweep = AsyncRelationalSweep(dialect)
        self.feed = AsyncRelationalFeed(dialect)

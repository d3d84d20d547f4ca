"""What the model sees of a session, and the parts that look after it, each with what it needs."""

from __future__ import annotations

from .compactor import AsyncCompactor
from .context_blocks import AsyncContextBlocks
from .context_size import AsyncContextSize
from .context_watch import AsyncContextWatch
from .model_caller import AsyncModelCaller
from .overlays import AsyncOverlays, AsyncPins
from .stored_session import AsyncStoredSession


class AsyncModelContext:
    """The blocks, the overlays, the compactor, and what the model is called with."""

    def __init__(self, stored: AsyncStoredSession) -> None:
        self.blocks = AsyncContextBlocks(stored)
        self.size = AsyncContextSize(stored, self.blocks)
        self.pins = AsyncPins(stored)
        self.overlays = AsyncOverlays(stored, self.pins, self.size)
        self.compactor = AsyncCompactor(stored, self.blocks, self.size, self.pins, self.overlays)
        self.watch = AsyncContextWatch(stored, self.size, self.compactor)
        self.model = AsyncModelCaller(
            stored, self.blocks, self.overlays, self.compactor, self.watch
        )

"""What the model sees of a session, and the parts that look after it, each with what it needs."""

from __future__ import annotations

from ..builder import Setup
from .auto_compaction import AsyncAutoCompaction
from .breaker import AsyncBreaker
from .compactions import AsyncCompactions
from .compactor import AsyncCompactor
from .compactor_document import AsyncCompactorDocument
from .context_blocks import AsyncContextBlocks
from .context_size import AsyncContextSize
from .context_watch import AsyncContextWatch
from .history import AsyncHistoryReader
from .listeners import AsyncListeners
from .model_call import AsyncModelCall
from .model_input import AsyncModelInputMaker
from .overlays import AsyncOverlayWriter
from .pins import AsyncPins
from .stored_session import AsyncStoredSession
from .thresholds import AsyncThresholdWatch


class AsyncModelContext:
    """The blocks, the overlays, the compactor, and what the model is called with."""

    def __init__(self, stored: AsyncStoredSession, setup: Setup) -> None:
        listeners = AsyncListeners(setup)
        document = AsyncCompactorDocument(stored)
        breaker = AsyncBreaker(document)
        self.blocks = AsyncContextBlocks(stored, setup, listeners)
        self.size = AsyncContextSize(stored, self.blocks)
        self.thresholds = AsyncThresholdWatch(stored, setup, self.size, document)
        self.pins = AsyncPins(stored)
        self.overlays = AsyncOverlayWriter(stored, setup, self.pins, self.size, document)
        self.compactor = AsyncCompactor(
            stored, setup, listeners, self.blocks, self.size, self.pins, self.overlays, breaker
        )
        self.compactions = AsyncCompactions(stored, setup, self.overlays, document, self.compactor)
        auto = AsyncAutoCompaction(
            stored, setup, self.size, self.thresholds, breaker, self.compactor
        )
        self.watch = AsyncContextWatch(stored, setup, listeners, self.size, self.thresholds, auto)
        history = AsyncHistoryReader(stored)
        self.input = AsyncModelInputMaker(stored, setup, history, self.blocks, self.overlays, auto)
        self.call = AsyncModelCall(self.input, self.compactor)

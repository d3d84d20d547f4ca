"""The memory store, in two twins."""

from __future__ import annotations

from collections.abc import Callable

from ...rules.codec import MAX_MESSAGE_BYTES
from ..embedded._async.store import AsyncEmbeddedStore
from ..embedded._sync.store import EmbeddedStore
from .runner import AsyncMemoryRunner, MemoryRunner


class MemoryStore(EmbeddedStore):
    """Keeps everything in this process, until it is closed. `clock` gives microseconds."""

    capabilities = frozenset()

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        super().__init__(MemoryRunner(clock), new_id=new_id, max_message_bytes=max_message_bytes)


class AsyncMemoryStore(AsyncEmbeddedStore):
    """Keeps everything in this process, until it is closed. `clock` gives microseconds."""

    capabilities = frozenset()

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        super().__init__(
            AsyncMemoryRunner(clock), new_id=new_id, max_message_bytes=max_message_bytes
        )

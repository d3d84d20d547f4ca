"""The memory store, in two twins."""

from __future__ import annotations

from collections.abc import Callable

from ...rules.codec import MAX_MESSAGE_BYTES
from ...store import Capability
from ..base._async.store import AsyncBaseStore
from ..base._sync.store import BaseStore
from .driver import MemorySnapshot
from .runner import AsyncMemoryRunner, MemoryRunner


class MemoryStore(BaseStore):
    """Keeps everything in this process, until it is closed. `clock` gives microseconds."""

    capabilities = frozenset({Capability.DATA})
    _runner: MemoryRunner

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        runner = MemoryRunner(clock)
        super().__init__(runner, new_id=new_id, max_message_bytes=max_message_bytes)

    def snapshot(self) -> MemorySnapshot:
        """Keep what the store holds now, to go back to: also in another memory store.

        It costs a pointer for each message, and never changes.
        """
        return self._runner.snapshot()

    def restore(self, snapshot: MemorySnapshot) -> None:
        """Replace all that the store holds by a snapshot, at once.

        Everything is as it was then. What was given out since is not given out again: a cursor of
        the change feed that is ahead of the snapshot is `NotFoundError`, as if the feed had been
        trimmed; a document's version is stale; an overlay made of what was read is `ConflictError`.
        """
        self._runner.restore(snapshot)

    def clear(self) -> None:
        """Forget all that the store holds, at once."""
        self._runner.clear()


class AsyncMemoryStore(AsyncBaseStore):
    """Keeps everything in this process, until it is closed. `clock` gives microseconds."""

    capabilities = frozenset({Capability.DATA})
    _runner: AsyncMemoryRunner

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        runner = AsyncMemoryRunner(clock)
        super().__init__(runner, new_id=new_id, max_message_bytes=max_message_bytes)

    async def snapshot(self) -> MemorySnapshot:
        """Keep what the store holds now, to go back to: also in another memory store.

        It costs a pointer for each message, and never changes.
        """
        return self._runner.sync.snapshot()

    async def restore(self, snapshot: MemorySnapshot) -> None:
        """Replace all that the store holds by a snapshot, at once.

        Everything is as it was then. What was given out since is not given out again: a cursor of
        the change feed that is ahead of the snapshot is `NotFoundError`, as if the feed had been
        trimmed; a document's version is stale; an overlay made of what was read is `ConflictError`.
        """
        self._runner.sync.restore(snapshot)

    async def clear(self) -> None:
        """Forget all that the store holds, at once."""
        self._runner.sync.clear()

"""Hooks on compactions: told of each summary that is in force, at the latest before the end."""

from __future__ import annotations

from ...model import CompactEvent, Event, SessionRecord
from ...session.compactor_state import MARK
from .closings import AsyncClosings
from .hook_calls import AsyncHookCalls
from .hook_event import AsyncHookEvent


class AsyncCompactionHooks:
    """A listener that tells the hooks of a compaction when it is done."""

    def __init__(self, closings: AsyncClosings, hooks: AsyncHookCalls) -> None:
        self._closings = closings
        self._hooks = hooks

    async def __call__(self, event: Event) -> None:
        """Tell the hooks of what was compacted."""
        if isinstance(event, CompactEvent) and event.phase == "done":
            record = await self._closings.find(event.session)
            if record is not None:
                await self.tell(record)

    async def tell(self, record: SessionRecord) -> bool:
        """Tell the hooks of a session's compactions; return whether all are done."""
        if not self._hooks.on("compaction"):
            return True
        store, owner = self._closings.store, self._closings.owner
        are_done = True
        for overlay in await store.list_overlays(owner, record.id):
            if MARK not in overlay.metadata or overlay.created_by != record.id:
                continue
            event = AsyncHookEvent.of(store, owner, record, "compaction", overlay=overlay)
            told = await self._hooks.tell(event, overlay.created_us)
            if told is None or not told.all_done:
                are_done = False
            if told is not None:
                await self._hooks.note(record.id, told.along)
        return are_done

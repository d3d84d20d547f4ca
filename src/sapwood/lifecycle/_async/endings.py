"""The second step of an ending: the hooks, and then the state in which a session stays."""

from __future__ import annotations

from ...errors import NotFoundError, StaleVersionError
from ...model import SessionRecord
from ...stores.base.queues import AsyncCallerQueues
from ..route import key_of
from .closings import AsyncClosings
from .hook_calls import AsyncHookCalls
from .hook_event import AsyncHookEvent

PAUSE_S = 0.05


class AsyncEndings:
    """Sessions of one owner on their way from closed to ended."""

    def __init__(self, closings: AsyncClosings, hooks: AsyncHookCalls) -> None:
        self._closings = closings
        self._hooks = hooks

    async def finish(
        self,
        session: str,
        *,
        generation: int | None = None,
        wait: bool = False,
        at_last: bool = False,
    ) -> SessionRecord | None:
        """Call the hooks of a session that is ending, then end it; return its record.

        What fails leaves it ending, to be tried again. With `wait`, it is waited for another
        process that calls them now; `at_last` tries all of them now, and ends the session even if
        one fails: that one stays a problem, and is tried again.
        """
        while True:
            record = await self._closings.find(session)
            if record is None or record.state != "ending":
                return record
            event = self._event(record, generation)
            told = await self._hooks.tell(event, record.system.life, now=at_last)
            if told is None:
                if not wait:
                    return record
                await AsyncCallerQueues.pause(PAUSE_S)
                continue
            if not told.all_done and not at_last:
                await self._hooks.note(session, told.along)
                return record
            try:
                return await self._closings.finish(record, told.along)
            except StaleVersionError:
                await self._hooks.note(session, told.along)
            except NotFoundError:
                return None

    def _event(self, record: SessionRecord, generation: int | None) -> AsyncHookEvent:
        return AsyncHookEvent(
            occasion="end",
            owner=self._closings.owner,
            session=record.id,
            reason=record.system.reason,
            parent=record.parent,
            generation=generation,
            life=record.system.life,
            title=record.title,
            key=key_of(record),
            store=self._closings.store,
        )

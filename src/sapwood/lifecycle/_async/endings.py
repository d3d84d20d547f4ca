"""The second step of an ending: the hooks, and then the state in which a session stays."""

from __future__ import annotations

from ...errors import NotFoundError, StaleVersionError
from ...model import SessionRecord
from ...stores.base.queues import AsyncCallerQueues
from .closings import AsyncClosings
from .compactions import AsyncCompactionHooks
from .hook_calls import AsyncHookCalls
from .hook_event import AsyncHookEvent

PAUSE_S = 0.05
DELETE = "delete"
"""The reason with which a session is closed that goes once its hooks have run."""


class AsyncEndings:
    """Sessions of one owner on their way from closed to ended."""

    def __init__(
        self, closings: AsyncClosings, hooks: AsyncHookCalls, compactions: AsyncCompactionHooks
    ) -> None:
        self._closings = closings
        self._hooks = hooks
        self._compactions = compactions

    async def finish(
        self,
        session: str,
        *,
        generation: int | None = None,
        wait: bool = False,
        at_last: bool = False,
    ) -> SessionRecord | None:
        """Call the hooks of a session that is ending, then end it; return its record.

        One that was closed to be deleted goes instead.

        What fails leaves it ending, to be tried again. With `wait`, it is waited for another
        process that calls them now; `at_last` tries all of them now, and ends the session even if
        one fails: that one stays a problem, and is tried again.
        """
        while True:
            record = await self._closings.find(session)
            if record is None or record.state != "ending":
                return record
            await self._compactions.tell(record)
            event = AsyncHookEvent.of(
                self._closings.store,
                self._closings.owner,
                record,
                "end",
                generation=generation,
                reason=record.system.reason,
            )
            told = await self._hooks.tell(event, record.system.life, now=at_last)
            if told is None:
                if not wait:
                    return record
                await AsyncCallerQueues.pause(PAUSE_S)
                continue
            is_deleted = record.system.reason == DELETE
            if is_deleted or not (told.all_done or at_last):
                await self._hooks.note(session, told.along)
            if not told.all_done and (is_deleted or not at_last):
                return record
            try:
                if is_deleted:
                    await self._closings.delete(record)
                    return None
                return await self._closings.finish(record, told.along)
            except StaleVersionError:
                await self._hooks.note(session, told.along)
            except NotFoundError:
                return None

    async def at_rest(self, session: str) -> SessionRecord:
        """Return a session's record before it is opened; an ending is finished first.

        `NotFoundError` for one that is about to be deleted.
        """
        record = await self._closings.get(session)
        if record.state != "ending":
            return record
        finished = await self.finish(session, wait=True, at_last=True)
        if finished is None or finished.state == "ending":
            raise NotFoundError(f"session {session!r} is being deleted", kind="session", id=session)
        return finished

"""The sweep: sessions that were quiet for long are ended, archived and deleted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal

from msgspec.structs import replace

from ...errors import ConflictError, NotFoundError
from ...model import OwnedSession, SessionQuery, SweepPolicy
from ...rules.sweep import SweepStep, next_step
from ...store._async.contract import AsyncStore
from ..report import SweepProgress, SweepReport, SweptSession, queries
from .lifecycle import AsyncLifecycle


class AsyncSweep:
    """Goes through what is stored, for one owner or for all, page by page.

    Any number of processes may do so at once: each write is refused if its session is not as it was
    seen.
    """

    def __init__(
        self,
        store: AsyncStore,
        owner: str | None,
        lifecycle_of: Callable[[str], AsyncLifecycle],
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._owner = owner
        self._lifecycle_of = lifecycle_of
        self._clock = clock

    async def run(
        self,
        policy: SweepPolicy,
        *,
        dry_run: bool,
        limit_s: float | None,
        progress: SweepProgress | None,
    ) -> SweepReport:
        """Do what is due, for so long at most."""
        until = None if limit_s is None else self._clock() + limit_s
        swept: list[SweptSession] = []
        now_us = await self._now_us()
        for query in [] if now_us is None else queries(policy, now_us):
            async for found in self._list(query):
                if until is not None and self._clock() >= until:
                    return SweepReport(sessions=tuple(swept), more=True, dry_run=dry_run)
                step = next_step(policy, found.session, now_us or 0)
                if step is None:
                    continue
                done = SweptSession(
                    owner=found.owner,
                    session=found.session.id,
                    title=found.session.title,
                    action=step.action,
                    reason=step.reason,
                )
                if not dry_run:
                    done = replace(done, outcome=await self._do(found, step))
                swept.append(done)
                if progress is not None:
                    progress(done)
        return SweepReport(sessions=tuple(swept), dry_run=dry_run)

    async def _do(self, found: OwnedSession, step: SweepStep) -> Literal["done", "kept", "waits"]:
        """Do what is due with a session, unless somebody uses it."""
        lifecycle, record = self._lifecycle_of(found.owner), found.session
        try:
            if step.action == "end":
                reason = step.reason or "timeout"
                after = await lifecycle.states.end_as_seen(record, reason, only_at_rest=True)
                return "waits" if after.state == "ending" else "done"
            if step.action == "finish":
                finished = await lifecycle.endings.finish(record.id)
                is_left = finished is not None and finished.state == "ending"
                return "waits" if is_left else "done"
            if step.action == "archive":
                await lifecycle.states.archive_as_seen(record)
                return "done"
            await lifecycle.states.delete_as_seen(record)
            await lifecycle.titles.release(record)
        except (ConflictError, NotFoundError):
            return "kept"
        return "done"

    async def _now_us(self) -> int | None:
        """Return the time by the store's clock; None when there is nothing to sweep."""
        owner = self._owner
        if owner is None:
            async for found in self._list(SessionQuery(kind=None, limit=1)):
                owner = found.owner
                break
        return None if owner is None else await self._lifecycle_of(owner).closings.now_us()

    async def _list(self, query: SessionQuery) -> AsyncIterator[OwnedSession]:
        """List sessions of the owner, or of all."""
        while True:
            if self._owner is None:
                page = await self._store.admin.list_sessions(query)
                found, cursor = page.sessions, page.cursor
            else:
                own = await self._store.list_sessions(self._owner, query)
                found = [OwnedSession(owner=self._owner, session=it) for it in own.sessions]
                cursor = own.cursor
            for it in found:
                yield it
            if cursor is None:
                return
            query = replace(query, cursor=cursor)

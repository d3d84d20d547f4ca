"""What makes another session current at a key: first the session, then the route, then the rest."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count

from msgspec.structs import replace

from ...calls import AsyncAnswer
from ...errors import (
    ConflictError,
    NotFoundError,
    StaleTipError,
    StaleVersionError,
    UsageError,
)
from ...model import (
    Edge,
    EdgeKind,
    ForkPoint,
    NewSession,
    Root,
    SessionKey,
    SessionRecord,
    SystemFields,
)
from ...stores.base.queues import AsyncCallerQueues
from ..back_off import pause_s
from ..route import SeenRoute, key_of
from .closings import AsyncClosings
from .endings import AsyncEndings
from .routes import AsyncRoutes
from .titles import AsyncTitles

Prepare = Callable[[SessionRecord], AsyncAnswer[object]]
"""Does what is to be done with a new session before it is current."""
Plan = Callable[[SeenRoute], NewSession | None]
"""Makes the session that is to be current, or None when the one that is will do."""


class AsyncSwitches:
    """Switches of one owner's keys. Each is whole once the route is swapped.

    Whoever is slower with that takes back what it made, and decides again.
    """

    def __init__(
        self,
        closings: AsyncClosings,
        endings: AsyncEndings,
        routes: AsyncRoutes,
        titles: AsyncTitles,
        random: Callable[[], float],
    ) -> None:
        self._closings = closings
        self._endings = endings
        self._routes = routes
        self._titles = titles
        self._random = random
        self._store = closings.store
        self._owner = closings.owner

    async def begin(self, key: SessionKey, reason: str, plan: Plan) -> SessionRecord:
        """Let a new session be current, unless the one that is will do."""
        for attempt in count():
            seen = await self._routes.read(key)
            new = plan(seen)
            if new is None and seen.open is not None:
                return seen.open
            assert new is not None
            target = await self._create(key, new)
            try:
                due = self._routes.due(seen, target, reason, is_new=True)
                await self._routes.swap(seen, target.id, reason, due)
            except StaleVersionError:
                await self._discard(target)
                await self._back_off(attempt)
                continue
            await self._routes.settle(key)
            return target
        raise AssertionError

    async def carry_on(
        self,
        key: SessionKey,
        reason: str,
        edge: EdgeKind,
        new: NewSession,
        prepare: Prepare | None = None,
    ) -> SessionRecord:
        """Let a fork at the tip be current; what was current is closed before it is."""
        for attempt in count():
            source = (await self._routes.read(key)).open
            if source is None:
                raise nothing_current(key)
            target = await self._create(key, _forked(new, source, source.tip, edge))
            if prepare is not None:
                target = await self._prepared(target, prepare)
            try:
                await self._closings.close(source, reason, next=target.id, expected_tip=source.tip)
            except (StaleTipError, StaleVersionError, NotFoundError):
                await self._discard(target)
                await self._back_off(attempt)
                continue
            # Reading moves the route on to what follows a session that is closed.
            seen = await self._routes.read(key)
            if not seen.has_known(target.id):
                target = await self.take(key, target.id)
            await self._endings.finish(source.id, generation=seen.route.generation)
            await self._routes.settle(key)
            return target
        raise AssertionError

    async def branch(
        self, key: SessionKey, reason: str, message: str | Root, new: NewSession
    ) -> SessionRecord:
        """Let a fork at a message be current, which the current session sees."""

        def plan(seen: SeenRoute) -> NewSession:
            if seen.current is None:
                raise nothing_current(key)
            return _forked(new, seen.current, message, EdgeKind.BRANCH)

        return await self.begin(key, reason, plan)

    async def take(self, key: SessionKey, session: str) -> SessionRecord:
        """Let a session that is there be current; it is opened again if it is closed."""
        for attempt in count():
            seen = await self._routes.read(key)
            record = await self._endings.at_rest(session)
            try:
                seen, now_us = await self._fence(seen, record)
                target = await self._closings.take(record, key, now_us)
                if seen.route.session == session:
                    await self._routes.rewrite(seen)
                else:
                    due = self._routes.due(seen, target, is_new=False)
                    await self._routes.swap(seen, session, "switch", due)
            except StaleVersionError:
                await self._back_off(attempt)
                continue
            await self._routes.settle(key)
            return target
        raise AssertionError

    async def _fence(self, seen: SeenRoute, record: SessionRecord) -> tuple[SeenRoute, int]:
        """See that nobody ends or takes a session that is about to be taken, by its key's route.

        Return the route of the key that it is taken for, and the time by the store's clock.
        """
        home = key_of(record)
        if home is None:
            return seen, await self._closings.now_us()
        if home == seen.key:
            return await self._routes.rewrite(seen)
        other = await self._routes.read(home)
        if other.route.session != record.id:
            _, now_us = await self._routes.rewrite(other)
            return seen, now_us
        if other.open is not None:
            raise ConflictError(
                f"session {record.id!r} is current at {home}: begin another one there first"
            )
        await self._routes.swap(other, None, "switch")
        return seen, await self._closings.now_us()

    async def _create(self, key: SessionKey, new: NewSession) -> SessionRecord:
        """Create a session without a title, which it has to claim first."""
        bare = replace(new, title=None, system=SystemFields(key=key.parts))
        target = await self._store.create_session(self._owner, bare)
        if new.title is None:
            return target
        try:
            return await self._titles.set(target.id, new.title, "user")
        except (ConflictError, UsageError):
            await self._discard(target)
            raise

    async def _prepared(self, target: SessionRecord, prepare: Prepare) -> SessionRecord:
        try:
            await prepare(target)
        except BaseException:
            await self._discard(await self._closings.get(target.id))
            raise
        return await self._closings.get(target.id)

    async def _discard(self, target: SessionRecord) -> None:
        """Delete a session that did not come to be current, unless somebody uses it."""
        with suppress(StaleVersionError, NotFoundError):
            await self._store.delete_session(
                self._owner, target.id, expected_version=target.version
            )
            await self._titles.release(target)

    async def _back_off(self, attempt: int) -> None:
        await AsyncCallerQueues.pause(pause_s(attempt, self._random()))


def _forked(
    new: NewSession, source: SessionRecord, message: str | Root, edge: EdgeKind
) -> NewSession:
    return replace(
        new,
        parent=Edge(kind=edge, session=source.id),
        fork=ForkPoint(session=source.id, message=message),
    )


def nothing_current(key: SessionKey) -> NotFoundError:
    """Return the error for a key without a current session."""
    return NotFoundError(
        f"no session is current at {key}: use get_or_create", kind="session", id=str(key)
    )

"""The routes of an owner's keys: read, and moved by comparing and swapping."""

from __future__ import annotations

import msgspec

from ...errors import StaleVersionError
from ...model import SessionKey, SessionRecord
from ...rules.codec import decode_stored
from ...rules.keys import route_key
from ..route import DueHooks, LeftSession, Route, SeenRoute
from .closings import AsyncClosings
from .endings import AsyncEndings
from .hook_calls import AsyncHookCalls
from .hook_event import AsyncHookEvent

encode = msgspec.json.Encoder().encode


class AsyncRoutes:
    """Which session is current at each key. A route is never deleted."""

    def __init__(
        self, closings: AsyncClosings, endings: AsyncEndings, hooks: AsyncHookCalls
    ) -> None:
        self._closings = closings
        self._endings = endings
        self._hooks = hooks
        self._store = closings.store
        self._owner = closings.owner

    async def read(self, key: SessionKey) -> SeenRoute:
        """Read a route; what it left is closed before anybody uses what is current.

        A current session that is closed and goes on in another one gives way to that.
        """
        while True:
            route, version = await self._load(key)
            if not route.is_settled:
                await self._settle(key, route)
                route, version = await self._load(key)
            current = None if route.session is None else await self._closings.find(route.session)
            if current is not None and current.system.key != key.parts:
                current = None
            seen = SeenRoute(key, route, version, current)
            following = await self._next_of(seen)
            if current is None or following is None:
                return seen
            try:
                due = self.due(seen, following, is_new=True)
                await self.swap(seen, following.id, "switch", due)
            except StaleVersionError:
                continue
            await self._endings.finish(current.id, generation=route.generation)

    async def swap(
        self, seen: SeenRoute, to: str | None, reason: str, due: tuple[DueHooks, ...] = ()
    ) -> None:
        """Move a route that is as it was seen; `StaleVersionError` when it is not."""
        route = seen.route.switched(to, seen.leaving(reason), due)
        await self._put(seen.key, route, seen.version)

    async def rewrite(self, seen: SeenRoute) -> tuple[SeenRoute, int]:
        """Write a route again as it was seen: who saw it before cannot move it any more.

        Return it, and the time by the store's clock.
        """
        version, now_us = await self._put(seen.key, seen.route, seen.version)
        return seen._replace(version=version), now_us

    async def release(self, seen: SeenRoute) -> None:
        """Let nothing be current where a session was that is closed now."""
        try:
            await self.swap(seen, None, "switch")
        except StaleVersionError:
            return

    async def settle(self, key: SessionKey) -> None:
        """Close what the route left, and call the hooks of its switches."""
        route, _ = await self._load(key)
        if not route.is_settled:
            await self._settle(key, route)

    def due(
        self, seen: SeenRoute, target: SessionRecord, reason: str = "switch", *, is_new: bool
    ) -> tuple[DueHooks, ...]:
        """Return what is to be told of a switch, as far as anybody listens."""
        left = seen.leaving(reason)
        due = DueHooks(
            occasion="switch",
            session=target.id,
            life=target.system.life,
            generation=seen.route.generation + 1,
            reason=None if left is None else left.reason,
            previous=None if left is None else left.session,
        )
        told = [msgspec.structs.replace(due, occasion="start")] if is_new else []
        if left is not None or not is_new:
            told.append(due)
        return tuple(it for it in told if self._hooks.on(it.occasion))

    async def _settle(self, key: SessionKey, route: Route) -> None:
        settled: list[LeftSession] = []
        for left in route.left:
            if not left.settled:
                record = await self._closings.close_left(key, left)
                settled.append(left)
                if record is not None and record.state == "ending":
                    await self._endings.finish(left.session, generation=route.generation)
        told = [due for due in route.due if await self._tell(key, due)]
        while True:
            route, version = await self._load(key)
            after = route.with_settled(settled, told)
            if after == route:
                return
            try:
                await self._put(key, after, version)
            except StaleVersionError:
                continue

    async def _tell(self, key: SessionKey, due: DueHooks) -> bool:
        """Call the hooks of a switch; return whether that is done.

        A program that has none leaves it to one that has.
        """
        if not self._hooks.on(due.occasion):
            return False
        record = await self._closings.find(due.session)
        if record is None:
            return True
        event = AsyncHookEvent.of(
            self._store,
            self._owner,
            record,
            due.occasion,
            generation=due.generation,
            life=due.life,
            reason=due.reason,
            previous=due.previous,
        )
        told = await self._hooks.tell(event, due.generation)
        if told is None:
            return False
        await self._hooks.note(due.session, told.along)
        return told.all_done

    async def _next_of(self, seen: SeenRoute) -> SessionRecord | None:
        """Find the session that goes on in the place of one that is closed."""
        current = seen.current
        if current is None or not current.closed or current.system.next is None:
            return None
        following = await self._closings.find(current.system.next)
        if following is None or following.system.key != seen.key.parts:
            return None
        return None if following.id == current.id else following

    async def _load(self, key: SessionKey) -> tuple[Route, int]:
        name = route_key(key)
        found = await self._store.find_document(self._owner, name)
        if found is None:
            return Route(), 0
        otherwise = f"the document {name!r} of {self._owner!r} cannot be read"
        return decode_stored(msgspec.json.Decoder(Route).decode, found.value, otherwise), (
            found.version
        )

    async def _put(self, key: SessionKey, route: Route, version: int) -> tuple[int, int]:
        put = await self._store.put_document(
            self._owner, route_key(key), encode(route), expected_version=version
        )
        return put.version, put.updated_us

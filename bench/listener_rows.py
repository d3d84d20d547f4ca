"""Appending while somebody is told of it and watches how full the context gets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import cycle

from measure import ROUNDS, AsyncCall, Call, Turns, async_time_of, calm, take_turns
from messages import DISTINCT, messages
from raw import new_id
from row import Row, slower
from world import OWNER, SESSION, World, async_go_round, go_round, open_async_store

from sapwood.model import Event
from sapwood.session import AsyncSession, AsyncSessionManager, Session, SessionManager

APPENDS = 300
NEVER = 10**9


def appender_to(chat: Session) -> Call:
    """Return a call that appends the next message to a session."""
    ready = cycle(list(messages(DISTINCT)))
    return lambda: chat.append(next(ready))


def append_with_listener(world: World) -> Iterator[Row]:
    """Append with a listener and a threshold that is never reached, against one without."""
    heard: list[Event] = []
    told_path, told_store = world.new_store("told")
    plain_path, plain_store = world.new_store("untold")
    with told_store, plain_store:
        told, plain = (
            SessionManager(store, owner=OWNER, new_id=new_id) for store in (told_store, plain_store)
        )
        told.on_event(heard.append).compact_after(NEVER)
        ours, without = (appender_to(sessions.get(SESSION)) for sessions in (told, plain))
        go_round(told_path, ours)
        go_round(plain_path, without)
        turns = take_turns(ours, without, world.times(APPENDS))
    assert heard
    yield slower("append with a listener and a threshold, against without", turns, 1.2)


def append_async_with_listener(world: World) -> Iterator[Row]:
    """Do the same on an event loop."""
    turns = asyncio.run(_append_async_with_listener(world))
    yield slower("append async with a listener and a threshold, against without", turns, 1.2)


async def _append_async_with_listener(world: World) -> Turns:
    heard: list[Event] = []
    told_path, plain_path = world.new_file("told"), world.new_file("untold")
    async with (
        AsyncSessionManager(open_async_store(told_path), owner=OWNER, new_id=new_id) as told,
        AsyncSessionManager(open_async_store(plain_path), owner=OWNER, new_id=new_id) as plain,
    ):
        told.on_event(heard.append).compact_after(NEVER)
        ours, without = [
            _async_appender(await sessions.session(SESSION)) for sessions in (told, plain)
        ]
        await async_go_round(told_path, ours)
        await async_go_round(plain_path, without)
        turns = Turns()
        for _ in range(ROUNDS):
            ours_us, without_us = await _round(ours, without, world.times(APPENDS))
            turns.ours.append(ours_us)
            turns.raw.append(without_us)
    assert heard
    return turns


async def _round(
    ours: AsyncCall, without: AsyncCall, count: int
) -> tuple[list[float], list[float]]:
    calm()
    ours_us, without_us = [], []
    for number in range(count):
        if number % 2:
            without_us.append(await async_time_of(without))
        ours_us.append(await async_time_of(ours))
        if not number % 2:
            without_us.append(await async_time_of(without))
    return ours_us, without_us


def _async_appender(chat: AsyncSession) -> AsyncCall:
    ready = cycle(list(messages(DISTINCT)))
    return lambda: chat.append(next(ready))

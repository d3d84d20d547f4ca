"""Wherever a process dies, the next one finds one current session, and closes what was left."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

import sapwood
from sapwood.model import SessionKey, SessionRecord, SweepPolicy
from sapwood.rules.ids import IdMaker

from ..dying import DiedError, DyingStore

Sessions = sapwood.AsyncSessionManager
MOST_CALLS = 80


@pytest.mark.parametrize("name", ["new", "reset", "branch", "end", "delete", "back"])
async def test_a_dead_process_leaves_one_current_session(url: str, name: str) -> None:
    # On a server durability is the server's.
    durability = "normal" if url.startswith("sqlite:") else "full"
    async with sapwood.open_async(url, durability=durability) as opened:
        for calls in range(MOST_CALLS):
            case = _Case(opened, f"{name} {calls}")
            if not await case.dies(name, calls):
                assert calls > 4
                return
            await case.is_mended()
    pytest.fail(f"{name} takes more than {MOST_CALLS} calls")


class _Case:
    """An owner whose process dies, and another process that goes on."""

    def __init__(self, opened: Sessions, owner: str) -> None:
        self.store = opened.store
        self.owner = owner
        self.key = SessionKey("bot", "telegram", "bob")
        self.told: list[str] = []
        self.new_id = IdMaker(_Ticks(), os.urandom)
        self.alive = self._managed(self.store)

    def _managed(self, store: Any) -> Sessions:
        manager = sapwood.AsyncSessionManager(store, owner=self.owner, new_id=self.new_id)
        for occasion in ("start", "switch", "end"):
            manager.with_hook(self._note, on=occasion, name="note")  # type: ignore[arg-type]
        return manager

    def _note(self, event: Any) -> None:
        self.told.append(f"{event.occasion} {event.session} {event.life}")

    async def dies(self, name: str, calls: int) -> bool:
        """Let the process die at a call; return whether it did."""
        before = await self.alive.get_or_create(self.key)
        await before.append("user", "hello", id="m1")
        store = DyingStore(self.store, calls)
        with suppress(DiedError):
            await SWITCHES[name](self._managed(store), self.key, before.id)
        return store.has_died

    async def is_mended(self) -> None:
        """Let the other process go on; see that all is as it has to be."""
        chat = await self.alive.get_or_create(self.key)
        await chat.append("user", "again", id="m2")
        for it in await _all(self.alive):
            if not it.closed and it.id != chat.id:
                # It never came to be current in this life: a sweep takes it away.
                assert it.messages == 0 or it.system.life, (self.owner, it)
                await (await self.alive.get(it.id)).update_record(active_us=1)
            # Who called hooks and died has a lease on them, which is over after a time.
            await self.store.delete_documents(self.owner, "hooks-lease/", session=it.id)
        await self.alive.sweep(SweepPolicy(archive_after=timedelta(days=1)))
        for it in await _all(self.alive):
            is_ended = f"end {it.id} {it.system.life}" in self.told
            assert is_ended == (it.id != chat.id), (self.owner, it, self.told)
            assert it.closed == (it.id != chat.id), (self.owner, it)
        current = await self.alive.current(self.key)
        assert current is not None
        assert current.id == chat.id
        life = (await chat.record()).system.life
        assert life or f"start {chat.id} 0" in self.told, (self.owner, self.told)


async def _all(sessions: Sessions) -> list[SessionRecord]:
    return (await sessions.list_sessions(kind=None, limit=100)).sessions


class _Ticks:
    """A clock that goes on at each look."""

    def __init__(self) -> None:
        self._now = 1_700_000_000_000_000

    def __call__(self) -> int:
        self._now += 1
        return self._now


async def _new(sessions: Sessions, key: SessionKey, before: str) -> None:
    await sessions.new(key)


async def _reset(sessions: Sessions, key: SessionKey, before: str) -> None:
    await sessions.reset(key)


async def _branch(sessions: Sessions, key: SessionKey, before: str) -> None:
    await sessions.branch(key)


async def _end(sessions: Sessions, key: SessionKey, before: str) -> None:
    await sessions.end(before)


async def _delete(sessions: Sessions, key: SessionKey, before: str) -> None:
    await sessions.delete(before)


async def _new_and_back(sessions: Sessions, key: SessionKey, before: str) -> None:
    await sessions.new(key)
    await sessions.resume(key, before)


SWITCHES: dict[str, Callable[..., Any]] = {
    "new": _new,
    "reset": _reset,
    "branch": _branch,
    "end": _end,
    "delete": _delete,
    "back": _new_and_back,
}

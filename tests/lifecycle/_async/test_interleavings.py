"""Whatever one process does between two calls of another, one session is current in the end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import sapwood
from sapwood.calls import AsyncAnswer
from sapwood.errors import ConflictError, NotFoundError
from sapwood.model import SessionKey

Sessions = sapwood.AsyncSessionManager
KEY = SessionKey("bot", "telegram", "bob")
OTHER = SessionKey("bot", "telegram", "eve")


class AsyncInterruptedStore:
    """A real store, between two calls of which something else happens, once."""

    def __init__(self, store: Any, calls: int, happens: Callable[[], AsyncAnswer[None]]) -> None:
        self._store = store
        self._left = calls
        self._happens = happens
        self.has_happened = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left < 0 and not self.has_happened:
                self.has_happened = True
                await self._happens()
            return await found(*args, **kwargs)

        return call


async def _get(sessions: Sessions, first: str) -> None:
    await sessions.get_or_create(KEY)


async def _new(sessions: Sessions, first: str) -> None:
    await sessions.new(KEY)


async def _branch(sessions: Sessions, first: str) -> None:
    await sessions.branch(KEY)


async def _resume(sessions: Sessions, first: str) -> None:
    await sessions.resume(KEY, first)


async def _take(sessions: Sessions, first: str) -> None:
    await sessions.resume(OTHER, first)


async def _end(sessions: Sessions, first: str) -> None:
    await sessions.end(first)


async def _delete(sessions: Sessions, first: str) -> None:
    await sessions.delete(first)


OPERATIONS: dict[str, Callable[[Sessions, str], AsyncAnswer[None]]] = {
    "get": _get,
    "new": _new,
    "branch": _branch,
    "resume": _resume,
    "take": _take,
    "end": _end,
    "delete": _delete,
}


@pytest.mark.parametrize("other", OPERATIONS)
@pytest.mark.parametrize("one", OPERATIONS)
@pytest.mark.parametrize("first", ["current", "open", "ended"])
async def test_one_session_is_current_and_no_other_is_open(
    one: str, other: str, first: str
) -> None:
    async with sapwood.open_async("memory://") as opened:
        for calls in range(200):
            sessions = opened.for_owner(f"owner {calls}")
            id = await _begun(sessions, first)
            if not await _interrupted(sessions, OPERATIONS[one], OPERATIONS[other], id, calls):
                assert calls
                return
            if first != "open" and not {one, other} & {"take", "end", "delete"}:
                # Nobody asked for an end of what is current.
                assert await sessions.current(KEY) is not None, calls
            await _is_whole(sessions, (one, other, first, calls))


async def test_what_is_said_while_a_branch_is_made_goes_along() -> None:
    async with sapwood.open_async("memory://") as opened:
        for calls in range(200):
            sessions = opened.for_owner(f"owner {calls}")
            id = await _begun(sessions, "current")
            if not await _interrupted(sessions, _branch, _say, id, calls):
                assert calls
                return
            source = (await (await sessions.get(id)).history()).messages_only
            current = await sessions.current(KEY)
            assert current is not None
            branch = (await current.history()).messages_only
            assert [it.text for it in branch] == [it.text for it in source], calls


async def _say(sessions: Sessions, first: str) -> None:
    await (await sessions.get(first)).append("user", "and this")


async def _begun(sessions: Sessions, first: str) -> str:
    """Begin with a session that is current, or is not and has ended, or has not."""
    if first == "open":
        return (await sessions.create()).id
    chat = await sessions.get_or_create(KEY)
    await chat.append("user", "hello")
    if first == "ended":
        await sessions.new(KEY)
    return chat.id


async def _interrupted(sessions: Sessions, one: Any, other: Any, id: str, calls: int) -> bool:
    """Let one operation happen before a certain call of the other; return whether it did."""

    async def happens() -> None:
        with suppress(ConflictError, NotFoundError):
            await other(sessions, id)

    store = AsyncInterruptedStore(sessions.store, calls, happens)
    within = sapwood.AsyncSessionManager(
        store,  # type: ignore[arg-type]
        owner=sessions.owner,
        new_id=sessions._new_id,
    )
    with suppress(ConflictError, NotFoundError):
        await one(within, id)
    return store.has_happened


async def _is_whole(sessions: Sessions, where: object) -> None:
    chat = await sessions.get_or_create(KEY)
    elsewhere = await sessions.current(OTHER)
    current = {chat.id} | (set() if elsewhere is None else {elsewhere.id})
    assert len(current) == (1 if elsewhere is None else 2), where
    for it in (await sessions.list_sessions(kind=None, limit=100)).sessions:
        assert it.id in current or it.closed or not it.system.key, (where, it)
        assert it.id not in current or not it.closed, (where, it)
        # Nothing is left to be done.
        assert it.state in ("active", "ended"), (where, it)

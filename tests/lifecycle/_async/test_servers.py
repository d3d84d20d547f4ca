"""A conversation's whole life on servers: what the other tests try is written over the contract."""

from __future__ import annotations

import pytest
from servers.urls import emptied

import sapwood
from sapwood.errors import AlreadyExistsError, SessionClosedError
from sapwood.model import SessionKey


@pytest.mark.parametrize("server", ["postgres", "redis"])
async def test_a_conversation_is_begun_switched_named_ended_and_swept(
    server: str, request: pytest.FixtureRequest, key: SessionKey
) -> None:
    told: list[str] = []
    async with sapwood.open_async(emptied(server, request), owner="ada") as sessions:
        sessions.with_hook(lambda event: told.append(event.session), name="note")
        first = await sessions.new(key, title="Plan")
        await first.append("user", "hello")
        second = await sessions.branch(key)
        assert (await second.record()).title == "Plan #2"
        assert told == [first.id]
        with pytest.raises(SessionClosedError):
            await first.append("user", "too late")
        with pytest.raises(AlreadyExistsError):
            await sessions.new(key, title="plan")
        third = await sessions.reset(key)
        assert (await sessions.resume(key, "Plan")).id == second.id
        assert told == [first.id, second.id, third.id]
        assert [it.text for it in (await second.history()).messages_only] == ["hello"]
        await second.update_record(active_us=1)
        report = await sessions.sweep()
        assert (second.id, "end") in [(it.session, it.action) for it in report.sessions]
        assert await sessions.current(key) is None
        assert await sessions.delete(first.id)
        assert (await sessions.rename(third.id, "Plan")).title == "Plan"
        assert await sessions.lifecycle_problems() == []

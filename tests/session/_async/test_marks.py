"""A session goes back to the place that was followed, and a mark is such a place."""

from __future__ import annotations

from typing import Any

import pytest
from servers.urls import SERVERS
from tier import FULL

from sapwood import ROOT, AsyncSession, AsyncSessionManager
from sapwood.errors import StaleTipError, UsageError

STORES = ["memory", "sqlite", *(SERVERS if FULL else ())]
pytestmark = pytest.mark.parametrize("url", STORES, indirect=True)


async def mark(sessions: AsyncSessionManager, chat: AsyncSession, id: str, **value: Any) -> None:
    await sessions.store.append(sessions.owner, chat.id, [], data=value, id=id)


async def held(sessions: AsyncSessionManager, chat: AsyncSession) -> dict[str, Any] | None:
    record = await chat.record()
    if record.data_at is None:
        return None
    found = await sessions.store.read_data(sessions.owner, chat.id, record.data_at)
    assert found is not None
    return found.value


async def test_undo_keeps_what_was_set_before_the_turn(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    await mark(sessions, chat, "k0", n=0)
    await chat.append_all([("user", "one"), ("assistant", "first")])
    await mark(sessions, chat, "k1", n=1)
    await chat.append_all([("user", "two"), ("assistant", "second")])
    await mark(sessions, chat, "k2", n=2)
    assert (await chat.undo()).tip == "k1"
    assert await held(sessions, chat) == {"n": 1}
    assert [it.text for it in (await chat.history()).messages_only] == ["one", "first"]
    assert (await chat.undo()).tip == "k0"
    assert await held(sessions, chat) == {"n": 0}
    with pytest.raises(UsageError):
        await chat.undo()
    assert (await chat.redo()).tip == "k1"
    assert (await chat.redo()).tip == "k2"
    assert await held(sessions, chat) == {"n": 2}


async def test_an_answer_is_asked_for_again_after_the_mark_that_it_followed(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    asked = await chat.append("user", "one")
    await mark(sessions, chat, "k1", n=1)
    answer = await chat.append("assistant", "first")
    await mark(sessions, chat, "k2", n=2)
    assert (await chat.retry_from()).id == asked.id
    assert await chat.tip() == "k1"
    other = await chat.append("assistant", "another")
    assert [it.id for it in await chat.children(asked)] == [answer.id, other.id]
    assert (await chat.retry_from(answer)).id == asked.id
    assert (await chat.tip(), await held(sessions, chat)) == ("k1", {"n": 1})


async def test_an_edit_stands_where_the_old_message_stood(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    await chat.append("user", "zero")
    await mark(sessions, chat, "k1", n=1)
    old = await chat.append("user", "one")
    await mark(sessions, chat, "k2", n=2)
    new = await chat.edit(old, "one, differently")
    assert new.depth == old.depth
    assert await held(sessions, chat) == {"n": 1}


async def test_pop_takes_back_a_mark_by_itself(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    await mark(sessions, chat, "k1", n=1)
    said = await chat.append("user", "one")
    await mark(sessions, chat, "k2", n=2)
    await mark(sessions, chat, "k3", n=3)
    assert (await chat.pop()).tip == "k2"
    assert (await chat.pop()).tip == said.id
    assert await held(sessions, chat) == {"n": 1}
    assert (await chat.pop()).tip == "k1"
    assert (await chat.pop()).tip is ROOT


async def test_pop_takes_back_the_expected_tip_with_the_marks_after_it(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    await mark(sessions, chat, "k1", n=1)
    said = await chat.append_all([("user", "one"), ("assistant", "first")])
    await mark(sessions, chat, "k2", n=2)
    await mark(sessions, chat, "k3", n=3)
    with pytest.raises(StaleTipError):
        await chat.pop(expected_tip=said[0])
    assert (await chat.pop(expected_tip=said[1])).tip == said[0].id
    assert await held(sessions, chat) == {"n": 1}
    assert (await chat.pop(expected_tip=said[0])).tip == "k1"
    with pytest.raises(StaleTipError):
        await chat.pop(expected_tip=said[0])
    assert (await chat.pop(expected_tip="k1")).tip is ROOT


async def test_where_a_message_was_deleted_undo_goes_back_to_its_place(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    await mark(sessions, chat, "k1", n=1)
    said = await chat.append_all([("user", "one"), ("assistant", "a"), ("assistant", "b")])
    await chat.append("user", "two")
    await chat.delete(said[2])
    assert (await chat.undo()).tip == said[2].id
    assert await held(sessions, chat) == {"n": 1}

"""What moves the tip back hides no message that was appended between its look and its move."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from sapwood import AsyncSession, AsyncSessionManager
from sapwood.calls import AsyncAnswer
from sapwood.errors import StaleTipError, UsageError
from sapwood.model import Fence, Root, SessionRecord
from sapwood.rules.ids import IdMaker
from sapwood.stores.memory import AsyncMemoryStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say


class AsyncBusyStore(AsyncMemoryStore):
    """A store in which somebody appends right before each checkout, if told to."""

    is_busy = False

    async def checkout(
        self,
        owner: str,
        session: str,
        message: str | Root,
        *,
        expected_tip: str | Root | None = None,
        fence: Fence | Sequence[Fence] | None = None,
    ) -> SessionRecord:
        if self.is_busy:
            await self.append(owner, session, [say("late")])
        return await super().checkout(
            owner, session, message, expected_tip=expected_tip, fence=fence
        )


@pytest.fixture
async def store() -> AsyncIterator[AsyncBusyStore]:
    clock = ManualClock()
    async with AsyncBusyStore(clock=clock, new_id=IdMaker(clock, os.urandom)) as store:
        yield store


@pytest.fixture
async def chat(store: AsyncBusyStore) -> AsyncSession:
    chat = await AsyncSessionManager(store, owner=ADA).session("chat")
    await chat.append_all([("user", "one"), ("assistant", "first"), ("user", "two")])
    await chat.append("assistant", "second")
    return chat


@pytest.mark.parametrize(
    ("move", "error"),
    [
        (lambda chat: chat.undo(), StaleTipError),
        (lambda chat: chat.redo(), UsageError),
        (lambda chat: chat.retry_from(), StaleTipError),
        (lambda chat: chat.pop(), StaleTipError),
    ],
    ids=["undo", "redo", "retry_from", "pop"],
)
async def test_what_was_appended_meanwhile_is_not_hidden(
    store: AsyncBusyStore,
    chat: AsyncSession,
    move: Callable[[AsyncSession], AsyncAnswer[object]],
    error: type[Exception],
) -> None:
    await chat.undo()
    store.is_busy = True
    with pytest.raises(error):
        await move(chat)
    assert await chat.tip() == "late"
    assert "late" in {it.id for it in (await chat.history()).messages_only}

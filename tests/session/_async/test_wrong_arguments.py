"""A call that cannot be meant is a `UsageError` that names what the caller wrote."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood import AsyncSession, AsyncSessionManager
from sapwood.errors import NotFoundError, UsageError


@pytest.mark.parametrize("wrong", [5, 2.5, b"m1", ["m1"], ""])
@pytest.mark.parametrize("name", ["before", "after", "leaf"])
async def test_a_place_that_is_none_is_refused(chat: AsyncSession, name: str, wrong: Any) -> None:
    await chat.append("user", "one")
    with pytest.raises(UsageError, match=name) as caught:
        await chat.history(**{name: wrong})
    assert caught.value.path == name
    with pytest.raises(UsageError, match="leaf"):
        await chat.path_length(wrong)


async def test_a_message_of_another_session_is_no_place(sessions: AsyncSessionManager) -> None:
    chat, other = await sessions.session("chat"), await sessions.session("other")
    await chat.append_all([("user", "one"), ("user", "two")])
    foreign = (await other.append_all([("user", "a"), ("user", "b")]))[1]
    for name in ("before", "after"):
        for place in (foreign, foreign.id):
            with pytest.raises(NotFoundError):
                await chat.history(**{name: place})  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        await chat.path_length(foreign)


async def test_a_message_of_another_branch_is_no_place_on_the_path(chat: AsyncSession) -> None:
    one, two = await chat.append_all([("user", "one"), ("assistant", "two")])
    other = await chat.append("assistant", "other", parent=one)
    for name in ("before", "after"):
        for place in (two, two.id):
            with pytest.raises(UsageError, match=f"{name}.*leaf"):
                await chat.history(**{name: place})  # type: ignore[arg-type]
    assert (await chat.history(two, before=two)).messages_only == [one]
    assert (await chat.history(before=other)).messages_only == [one]
    assert await chat.path_length(two) == 2


async def test_a_record_from_before_a_clear_names_its_message(chat: AsyncSession) -> None:
    await chat.append_all([("user", "one"), ("user", "two")])
    old = await chat.append("user", "three", id="m3")
    await chat.clear()
    await chat.append("user", "three", id="m3")
    last = await chat.append("user", "four")
    assert (await chat.history(after=old)).messages_only == [last]


async def test_the_session_names_what_the_caller_wrote(chat: AsyncSession) -> None:
    await chat.append("user", "one")
    wrong: list[tuple[Any, str]] = [
        (lambda: chat.undo(0), "turns"),
        (lambda: chat.undo(9), "turns"),
        (lambda: chat.undo("2"), "turns"),  # type: ignore[arg-type]
        (lambda: chat.get(None), "id"),  # type: ignore[arg-type]
        (lambda: chat.find(5), "id"),  # type: ignore[arg-type]
        (lambda: chat.delete(None), "messages"),  # type: ignore[arg-type]
        (lambda: chat.delete(5), "messages"),  # type: ignore[arg-type]
        (lambda: chat.delete(["m1", None]), "messages[1]"),  # type: ignore[list-item]
        (lambda: chat.update_record(titel="T"), "titel"),  # type: ignore[call-arg]
        (lambda: chat.usage(by="zzz"), "by"),  # type: ignore[arg-type]
        (lambda: chat.history(limit="x"), "limit"),  # type: ignore[arg-type]
        (lambda: chat.add_overlay("m1", "m1", "s", history="x"), "history"),  # type: ignore[arg-type]
        (lambda: chat.add_overlay("m1", "m1", "s", history=0), "history"),  # type: ignore[arg-type]
    ]
    for call, path in wrong:
        with pytest.raises(UsageError) as caught:
            await call()
        assert caught.value.path == path
    with pytest.raises(UsageError, match="page"):
        [entry.id async for entry in chat.iter_history(page=0)]


async def test_the_manager_names_what_the_caller_wrote(sessions: AsyncSessionManager) -> None:
    await sessions.session("chat")
    wrong: list[tuple[Any, str]] = [
        (lambda: sessions.usage(by="zzz"), "by"),  # type: ignore[arg-type]
        (lambda: sessions.usage(by="message"), "by"),
        (lambda: sessions.session("chat", titel="T"), "titel"),  # type: ignore[call-arg]
        (lambda: sessions.session("new", titel="T"), "titel"),  # type: ignore[call-arg]
        (lambda: sessions.create(titel="T"), "titel"),  # type: ignore[call-arg]
        (lambda: sessions.create(attributes=None, model="x"), "attributes"),  # type: ignore[arg-type]
        (lambda: sessions.list_sessions(stat="active"), "stat"),  # type: ignore[call-arg]
    ]
    for call, path in wrong:
        with pytest.raises(UsageError) as caught:
            await call()
        assert caught.value.path == path
    assert await sessions.find("new") is None

"""What an inbox asks of sessions: the last message, how far users have read, and what is unread."""

from __future__ import annotations

import pytest

from sapwood import ROOT, AsyncSession, AsyncSessionManager
from sapwood.errors import NotFoundError, UsageError


async def test_a_preview_is_of_the_last_message(chat: AsyncSession) -> None:
    assert await chat.preview() is None
    await chat.append("user", "Where is\nmy order?", name="Ada")
    preview = await chat.preview()
    assert preview is not None
    assert (preview.role, preview.name, preview.text) == ("user", "Ada", "Where is my order?")
    await chat.append("tool", "found it", allow_orphans=True)
    assert await chat.preview() == preview


async def test_the_owner_reads_unless_another_user_is_named(chat: AsyncSession) -> None:
    await chat.append_all([("user", "one"), ("assistant", "two")])
    mark = await chat.mark_read()
    assert mark is not None
    assert (mark.message, mark.depth) == (await chat.tip(), 2)
    assert (await chat.unread(), await chat.unread("ada"), await chat.unread("bob")) == (0, 0, 2)
    await chat.mark_read("bob", (await chat.history()).messages_only[0])
    assert await chat.unread("bob") == 1


async def test_undo_and_another_answer_keep_count(chat: AsyncSession) -> None:
    await chat.append_all([("user", "q1"), ("assistant", "a1"), ("user", "q2")])
    await chat.append("assistant", "a2", id="a2")
    await chat.mark_read()
    await chat.undo()
    assert await chat.unread() == 0
    await chat.redo()
    assert await chat.unread() == 0
    await chat.retry_from("a2")
    await chat.append("assistant", "another")
    assert await chat.unread() == 1
    await chat.mark_read()
    await chat.edit("a2", "and yet another")
    assert await chat.unread() == 1
    await chat.mark_read()
    assert await chat.unread() == 0


async def test_a_mark_goes_back_only_when_it_is_asked_to(chat: AsyncSession) -> None:
    first, _, last = [(await chat.append("user", text)).id for text in ("one", "two", "three")]
    await chat.mark_read(upto=last)
    kept = await chat.mark_read(upto=first)
    assert kept is not None
    assert (kept.message, await chat.unread()) == (last, 0)
    await chat.mark_read(upto=first, back=True)
    assert await chat.unread() == 2
    assert await chat.mark_read(upto=ROOT, back=True) is None
    assert await chat.unread() == 3


async def test_a_list_has_previews_and_numbers_where_it_is_asked_for_them(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    await chat.append_all([("user", "one"), ("assistant", "two")])
    await sessions.create("empty")
    fork = await chat.fork("fork")
    await fork.mark_read("bob")
    plain = (await sessions.list_sessions()).sessions
    assert [(it.preview, it.unread) for it in plain] == [(None, None)] * 3
    shown = (await sessions.list_sessions(previews=True)).sessions
    assert {it.id: it.preview and it.preview.text for it in shown} == {
        "chat": "two",
        "fork": "two",
        "empty": None,
    }
    assert {it.unread for it in shown} == {None}
    page = await sessions.list_sessions(unread_for="bob", limit=2)
    rest = await sessions.list_sessions(unread_for="bob", cursor=page.cursor)
    unread = {it.id: it.unread for it in [*page.sessions, *rest.sessions]}
    assert unread == {"chat": 2, "fork": 0, "empty": 0}


async def test_what_is_not_there_is_not_marked(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    with pytest.raises(NotFoundError):
        await chat.mark_read(upto="nothing")
    lazy = await sessions.session("lazy", lazy=True)
    for call in (lazy.mark_read, lazy.unread, lazy.preview):
        with pytest.raises(NotFoundError) as caught:
            await call()
        assert caught.value.kind == "session"
    with pytest.raises(UsageError) as wrong:
        await chat.mark_read("")
    assert wrong.value.path == "user"
    with pytest.raises(UsageError) as wrong:
        await sessions.list_sessions(unread_for="\n")
    assert wrong.value.path == "unread_for"

from __future__ import annotations

import pytest

from sapwood import ROOT, AsyncSession, AsyncSessionManager
from sapwood.errors import AlreadyExistsError, NotFoundError
from sapwood.model import EdgeKind


async def test_branches_are_the_ends_of_the_tree(chat: AsyncSession) -> None:
    assert await chat.branches() == []
    question = await chat.append("user", "a")
    old = await chat.append("assistant", "old")
    new = await chat.append("assistant", "new", parent=question)
    assert {leaf.id for leaf in await chat.branches()} == {old.id, new.id}
    assert {child.id for child in await chat.children(question)} == {old.id, new.id}
    assert await chat.children() == [question]
    assert await chat.children(new.id) == []


async def test_checkout_moves_the_tip_and_deletes_nothing(chat: AsyncSession) -> None:
    first = await chat.append("user", "a")
    second = await chat.append("assistant", "b")
    assert (await chat.checkout(first)).tip == first.id
    assert (await chat.history()).messages_only == [first]
    assert (await chat.history(second)).messages_only == [first, second]
    await chat.checkout(ROOT)
    assert await chat.tip() is ROOT
    again = await chat.append("user", "another beginning")
    assert again.depth == 1
    assert len(await chat.children(ROOT)) == 2
    with pytest.raises(NotFoundError):
        await chat.checkout("nowhere")


async def test_a_fork_goes_on_by_itself(sessions: AsyncSessionManager, chat: AsyncSession) -> None:
    question = await chat.append("user", "a")
    answer = await chat.append("assistant", "b")
    fork = await chat.fork("fork", question, title="Another way")
    assert fork.id == "fork"
    other = await fork.append("assistant", "c")
    assert (await fork.history()).messages_only == [question, other]
    assert (await chat.history()).messages_only == [question, answer]
    record = await (await sessions.get("fork")).record()
    assert record.title == "Another way"
    assert record.parent is not None
    assert (record.parent.kind, record.parent.session) == (EdgeKind.BRANCH, "chat")
    assert [found.id for found in (await sessions.list_sessions(parent="chat")).sessions] == [
        "fork"
    ]


async def test_a_fork_without_a_message_starts_at_the_tip(chat: AsyncSession) -> None:
    message = await chat.append("user", "a")
    fork = await chat.fork()
    assert await fork.tip() == message.id
    assert await (await fork.fork(message=ROOT)).tip() is ROOT
    with pytest.raises(AlreadyExistsError):
        await chat.fork("chat")
    with pytest.raises(NotFoundError):
        await chat.fork(message="nowhere")


async def test_a_detached_fork_has_its_own_messages(chat: AsyncSession) -> None:
    message = await chat.append("user", "a")
    fork = await chat.fork("copy", detach=True)
    await chat.update(message, "changed")
    [copy] = (await fork.history()).messages_only
    assert (copy.id, copy.text, copy.home) == (message.id, "a", "copy")


async def test_a_fork_outlives_its_source(
    sessions: AsyncSessionManager, chat: AsyncSession
) -> None:
    message = await chat.append("user", "a")
    fork = await chat.fork("fork")
    await sessions.delete("chat")
    await sessions.finish_deletions()
    [kept] = (await fork.history()).messages_only
    assert (kept.id, kept.home) == (message.id, None)
    with pytest.raises(NotFoundError):
        await chat.history()


async def test_a_record_is_changed_field_by_field(chat: AsyncSession) -> None:
    await chat.update_record(title="Chat", attributes={"k": [1]})
    record = await chat.update_record(tags=["a", "b"], budget=1000, expected_version=2)
    assert (record.title, record.attributes, record.tags) == ("Chat", {"k": [1]}, ["a", "b"])
    record = await chat.update_record(title=None, state="done")
    assert (record.title, record.state, record.budget) == (None, "done", 1000)

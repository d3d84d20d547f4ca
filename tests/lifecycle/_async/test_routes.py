"""Each key has one session that is current, and a switch is whole or has not happened."""

from __future__ import annotations

import pytest

import sapwood
from sapwood import Summary
from sapwood.errors import (
    CompactionError,
    ConflictError,
    NotFoundError,
    SessionClosedError,
    UsageError,
)
from sapwood.model import EdgeKind, Isolation, SessionKey

Sessions = sapwood.AsyncSessionManager


async def test_a_key_has_one_session_until_it_is_switched(
    sessions: Sessions, key: SessionKey
) -> None:
    assert await sessions.current(key) is None
    chat = await sessions.get_or_create(key)
    assert (await sessions.get_or_create(key)).id == chat.id
    assert (await sessions.get_or_create(str(key))).id == chat.id
    assert (await chat.record()).system.key == key.parts
    other = await sessions.get_or_create(SessionKey("bot", "telegram", "eve"))
    assert other.id != chat.id


async def test_new_ends_the_session_before_and_has_nothing_of_it(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.get_or_create(key, tags=["work"])
    await old.append("user", "hello")
    new = await sessions.new(key)
    current = await sessions.current(key)
    assert current is not None
    assert current.id == new.id
    record = await old.record()
    assert (record.state, record.system.reason, record.closed) == ("ended", "new", True)
    assert (await new.history()).entries == []
    assert (await new.record()).tags == []
    with pytest.raises(SessionClosedError):
        await old.append("user", "too late")


async def test_reset_keeps_blocks_and_attributes_and_no_history(
    sessions: Sessions, key: SessionKey
) -> None:
    sessions.with_context("notes")
    old = await sessions.get_or_create(key, attributes={"lang": "de"})
    await old.replace_context_block("notes", "likes tea")
    await old.append("user", "hello")
    new = await sessions.reset(key)
    record = await new.record()
    assert record.parent is not None
    assert (record.parent.kind, record.parent.session) == (EdgeKind.RESET, old.id)
    assert record.attributes == {"lang": "de"}
    assert (await new.get_context_block("notes")).content == "likes tea"
    assert (await new.history()).entries == []
    assert (await old.record()).system.reason == "reset"


async def test_reset_can_keep_the_history(sessions: Sessions, key: SessionKey) -> None:
    old = await sessions.get_or_create(key)
    await old.append("user", "hello")
    new = await sessions.reset(key, keep_history=True)
    assert [it.text for it in (await new.history()).messages_only] == ["hello"]
    assert (await old.record()).system.next == new.id


async def test_a_branch_at_the_tip_is_named_by_its_source_which_is_closed(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.new(key, title="Plan")
    await old.append("user", "hello")
    new = await sessions.branch(key)
    assert [it.text for it in (await new.history()).messages_only] == ["hello"]
    assert (await new.record()).title == "Plan #2"
    record = await old.record()
    assert (record.system.next, record.state) == (new.id, "ended")


async def test_a_split_goes_on_with_a_summary_and_the_next_title(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.new(key, title="Plan")
    await old.append("user", "hello")
    new = await sessions.compact_and_split(key, summary="They said hello.")
    record, source = await new.record(), await old.record()
    assert record.parent is not None
    assert (record.parent.kind, record.title) == (EdgeKind.CONTINUE, "Plan #2")
    assert [type(it) for it in (await new.history()).entries] == [Summary]
    assert (source.end_reason, source.system.next) == ("compaction", new.id)


async def test_a_split_that_fails_changes_nothing(sessions: Sessions, key: SessionKey) -> None:
    old = await sessions.get_or_create(key)
    with pytest.raises(CompactionError):
        await sessions.compact_and_split(key)
    current = await sessions.current(key)
    assert current is not None
    assert current.id == old.id
    assert len((await sessions.list_sessions()).sessions) == 1


async def test_a_branch_at_a_message_shows_what_is_above_it(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.get_or_create(key)
    first = await old.append("user", "hello")
    await old.append("assistant", "hi")
    new = await sessions.branch(key, at=first, title="Another way")
    assert [it.text for it in (await new.history()).messages_only] == ["hello"]
    assert (await new.record()).title == "Another way"


async def test_resume_opens_again_with_another_life(sessions: Sessions, key: SessionKey) -> None:
    old = await sessions.get_or_create(key)
    await old.append("user", "hello")
    await sessions.new(key)
    before = (await old.record()).active_us
    assert (await sessions.resume(key, old.id)).id == old.id
    record = await old.record()
    assert (record.closed, record.state, record.system.life) == (False, "active", 1)
    assert record.system.reason is None
    assert record.active_us > before
    await old.append("user", "again")


async def test_resume_takes_a_beginning_a_number_and_a_title(
    sessions: Sessions, key: SessionKey
) -> None:
    first = await sessions.new(key, title="Plan")
    second = await sessions.new(key, title="Trip")
    assert (await sessions.resume(key, "plan")).id == first.id
    listed = await sessions.list_recent(key)
    assert [it.id for it in listed] == [first.id, second.id]
    number = [it.id for it in listed].index(second.id) + 1
    assert (await sessions.resume(key, number)).id == second.id
    assert (await sessions.resume(key, str(number))).id == second.id
    await sessions.session("a-session-without-a-key")
    assert (await sessions.resume(key, "a-session")).id == "a-session-without-a-key"
    with pytest.raises(NotFoundError):
        await sessions.resume(key, "nothing like it")
    with pytest.raises(NotFoundError):
        await sessions.resume(key, 99)
    with pytest.raises(UsageError):
        await sessions.resume(key, "")


async def test_resume_goes_to_the_end_of_what_was_continued(
    sessions: Sessions, key: SessionKey
) -> None:
    first = await sessions.get_or_create(key)
    await first.append("user", "hello")
    second = await sessions.branch(key)
    await sessions.new(key)
    assert (await sessions.resume(key, first.id)).id == second.id


async def test_what_is_current_elsewhere_is_not_taken(sessions: Sessions, key: SessionKey) -> None:
    other = SessionKey("bot", "telegram", "eve")
    chat = await sessions.get_or_create(other)
    with pytest.raises(ConflictError, match="is current at"):
        await sessions.resume(key, chat.id)
    await sessions.end(chat.id)
    assert (await sessions.resume(key, chat.id)).id == chat.id
    assert await sessions.current(other) is None
    assert (await chat.record()).system.key == key.parts


async def test_another_owners_session_is_not_found(sessions: Sessions, key: SessionKey) -> None:
    eves = await sessions.for_owner("eve").new(key, title="Secret plan")
    for what in (eves.id, eves.id[:20], "Secret plan"):
        with pytest.raises(NotFoundError) as told:
            await sessions.resume(key, what)
        assert "eve" not in str(told.value)


async def test_what_has_ended_is_not_current(sessions: Sessions, key: SessionKey) -> None:
    chat = await sessions.get_or_create(key)
    await sessions.end(chat.id, "abandoned")
    assert await sessions.current(key) is None
    assert (await sessions.get_or_create(key)).id != chat.id


async def test_what_was_deleted_is_not_current(sessions: Sessions, key: SessionKey) -> None:
    chat = await sessions.get_or_create(key)
    assert await sessions.delete(chat.id)
    assert await sessions.current(key) is None
    assert (await sessions.get_or_create(key)).id != chat.id


async def test_a_deleted_parent_leaves_its_branches(sessions: Sessions, key: SessionKey) -> None:
    old = await sessions.get_or_create(key)
    await old.append("user", "hello")
    new = await sessions.branch(key)
    assert [it.id for it in await sessions.lineage(new.id)] == [new.id, old.id]
    assert (await sessions.root(new.id)).id == old.id
    assert (await sessions.end_of_chain(old.id)).id == new.id
    await sessions.delete(old.id)
    assert [it.id for it in await sessions.lineage(new.id)] == [new.id]
    assert [it.text for it in (await new.history()).messages_only] == ["hello"]


async def test_a_message_that_is_delivered_twice_is_known_after_a_switch(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.get_or_create(key)
    async with old.turn() as turn:
        await turn.append("user", "hello", id="m1")
        await turn.complete("assistant", "hi")
    await sessions.new(key)
    found = await sessions.find_turn(key, "m1")
    assert found is not None
    assert (found.session, found.turn.state) == (old.id, "complete")
    assert await sessions.find_turn(key, "m2") is None


async def test_a_message_is_looked_up_past_a_session_that_was_deleted(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.get_or_create(key)
    async with old.turn() as turn:
        await turn.append("user", "hello", id="m1")
        await turn.complete("assistant", "hi")
    deleted = await sessions.new(key)
    await sessions.new(key)
    await sessions.delete(deleted.id)
    found = await sessions.find_turn(key, "m1")
    assert found is not None
    assert found.session == old.id
    assert await sessions.find_turn(key, "m2") is None


async def test_a_thread_is_its_own_only_where_threads_are_isolated(url: str) -> None:
    thread = SessionKey("bot", "telegram", "bob", "t1")
    plain = SessionKey("bot", "telegram", "bob")
    async with sapwood.open_async(url, owner="ada") as sessions:
        assert (await sessions.get_or_create(thread)).id == (await sessions.get_or_create(plain)).id
    apart = Isolation(by_thread=True)
    async with sapwood.open_async(url, owner="bea", isolation=apart) as sessions:
        assert (await sessions.get_or_create(thread)).id != (await sessions.get_or_create(plain)).id


async def test_a_session_made_again_under_its_id_is_not_taken_for_the_old_one(
    sessions: Sessions, key: SessionKey
) -> None:
    old = await sessions.get_or_create(key)
    await sessions.new(key)
    await sessions.delete(old.id)
    again = await sessions.create(old.id)
    await sessions.get_or_create(key)
    assert not (await again.record()).closed

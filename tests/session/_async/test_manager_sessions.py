"""What a manager does with its sessions."""

from __future__ import annotations

import pytest

from sapwood import AsyncSessionManager
from sapwood.context import BlockConfig
from sapwood.errors import NotFoundError, UsageError
from sapwood.model import ROOT, Edge, EdgeKind, Usage


async def test_a_session_is_created_with_what_it_is_about(sessions: AsyncSessionManager) -> None:
    await sessions.session("parent")
    chat = await sessions.create(
        title="Trip",
        model="large",
        source="web",
        parent="parent",
        attributes={"k": 1},
        tags=["a"],
        budget=500,
    )
    record = await chat.record()
    assert (record.attributes, record.model, record.source) == ({"k": 1}, "large", "web")
    assert record.parent == Edge(kind=EdgeKind.BRANCH, session="parent")
    assert (record.title, record.tags, record.budget) == ("Trip", ["a"], 500)
    [child] = (await sessions.list_sessions(parent="parent")).sessions
    assert child == record
    with pytest.raises(NotFoundError):
        await sessions.create(parent="nobody")
    for wrong in ({"model": 3}, {"source": ""}, {"end_reason": "x" * 257}, {"data": {}}):
        [field] = wrong
        with pytest.raises(UsageError) as refused:
            await sessions.create(**wrong)  # type: ignore[arg-type]
        assert refused.value.path == field


async def test_a_lazy_session_is_created_by_its_first_write(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat", lazy=True, title="Trip", parent="nobody")
    assert await sessions.find("chat") is None
    with pytest.raises(NotFoundError):
        await chat.history()
    with pytest.raises(NotFoundError) as missing:
        await chat.append("user", "hello")
    assert missing.value.id == "nobody"
    chat = await sessions.session("chat", lazy=True, title="Trip")
    await chat.append("user", "hello")
    assert (await chat.record()).title == "Trip"


async def test_a_lazy_session_is_not_read_and_has_the_settings_of_its_manager(
    sessions: AsyncSessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sessions.store
    blocks = [BlockConfig("soul", default="You are helpful.")]
    manager = AsyncSessionManager(store, owner="ada", new_id=lambda: "id", context=blocks)
    with monkeypatch.context() as unread:
        for name in ("find_session", "read", "find_messages", "list_documents"):
            unread.setattr(type(store), name, None)
        chat = await manager.session("chat", lazy=True)
        await chat.append("user", "hello")
    assert "You are helpful." in (await chat.prepare()).prompt
    assert await chat.path_length() == 1


async def test_a_lazy_session_that_is_there_is_used_and_does_not_come_back(
    sessions: AsyncSessionManager,
) -> None:
    await (await sessions.session("chat", title="Old")).append("user", "hello")
    chat = await sessions.session("chat", lazy=True, title="New")
    await chat.append("assistant", "hello")
    assert ((await chat.record()).title, await chat.path_length()) == ("Old", 2)
    await sessions.delete("chat")
    with pytest.raises(NotFoundError):
        await chat.append("user", "again")
    assert await sessions.find("chat") is None


async def test_a_write_that_no_new_session_takes_creates_none(
    sessions: AsyncSessionManager,
) -> None:
    chat = await sessions.session("chat", lazy=True)
    for guard in ({"expected_tip": "m1"}, {"parent": "m1"}):
        with pytest.raises(NotFoundError):
            await chat.append("user", "hello", **guard)  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        await chat.update_record(title="x", expected_version=1)
    assert await sessions.find("chat") is None
    await chat.append("user", "hello", expected_tip=ROOT)
    assert await chat.path_length() == 1


async def test_what_is_wrong_with_a_lazy_session_is_told_at_once(
    sessions: AsyncSessionManager,
) -> None:
    for wrong in ({"model": 3}, {"data": {}}):
        [field] = wrong
        with pytest.raises(UsageError) as refused:
            await sessions.session("chat", lazy=True, **wrong)  # type: ignore[arg-type]
        assert refused.value.path == field


async def test_a_session_is_renamed(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat", title="Old")
    assert (await sessions.rename("chat", "New")).title == "New"
    assert (await chat.record()).title == "New"
    assert [it.id for it in (await sessions.list_sessions(title_prefix="N")).sessions] == ["chat"]
    with pytest.raises(NotFoundError):
        await sessions.rename("nobody", "x")


async def test_writes_on_a_session_move_its_activity_and_count(
    sessions: AsyncSessionManager,
) -> None:
    for id in ("one", "two"):
        await sessions.session(id)
    one = await sessions.get("one")
    before = (await one.record()).active_us
    [message] = await one.append_all([("user", "a")])
    record = await one.record()
    assert record.active_us == message.created_us >= before
    assert record.messages == 1


async def test_a_fork_keeps_ids_blocks_overlays_and_pins(sessions: AsyncSessionManager) -> None:
    sessions.with_context("memory")
    chat = await sessions.session("chat")
    for n in range(4):
        await chat.append("user", f"message {n}", id=f"m{n}")
    await chat.replace_context_block("memory", "Likes tea.")
    await chat.pin("m0")
    await chat.add_overlay("m0", "m1", "two messages")
    fork = await sessions.fork("chat", "m2", new_id="fork", title="Fork")
    shown = (await fork.history()).entries
    assert [entry.text for entry in shown] == ["two messages", "message 2"]
    assert [message.id for message in (await fork.history()).messages_only] == ["m0", "m2"]
    assert (await fork.get_context_block("memory")).content == "Likes tea."
    record = await fork.record()
    assert (record.title, record.parent) == ("Fork", Edge(kind=EdgeKind.BRANCH, session="chat"))
    for wrong in ("m99", "m"):
        with pytest.raises(NotFoundError):
            await sessions.fork("chat", wrong, new_id="lost")
    assert await sessions.find("lost") is None


async def test_a_deleted_session_leaves_nothing_behind(sessions: AsyncSessionManager) -> None:
    sessions.with_context("memory").with_searchable_history()
    chat = await sessions.session("chat")
    await chat.append("user", "a rare zephyr", id="m1")
    await chat.replace_context_block("memory", "Likes tea.")
    await chat.system_prompt()
    await chat.pin("m1")
    await chat.add_overlay("m1", "m1", "one rare zephyr")
    await chat.add_usage(Usage(id="u1", model="large", message="m1", input_tokens=5))
    await chat.append("user", "again")
    await chat.undo()
    await sessions.delete("chat")
    await sessions.finish_deletions()
    counted = await sessions.statistics()
    assert (counted.sessions, counted.messages, counted.overlays, counted.documents) == (0, 0, 0, 0)
    assert (await sessions.search("zephyr")).hits == []
    assert await sessions.usage() == []
    assert await sessions.store.list_documents("ada", "") == []
    again = await sessions.session("chat")
    assert (await again.get_context_block("memory")).content == ""
    assert await again.usage() == []
    assert await again.pins() == []


async def test_statistics_count_what_there_is(sessions: AsyncSessionManager) -> None:
    for id in ("one", "two"):
        chat = await sessions.session(id)
        await chat.append_all([("user", "a"), ("assistant", "b")])
    counted = await sessions.statistics()
    assert (counted.sessions, counted.messages) == (2, 4)


async def test_append_all_goes_on_at_the_tip(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    await chat.append("user", "first")
    await chat.append_all([("assistant", "second"), ("user", "third")])
    texts = [message.text for message in (await chat.history()).messages_only]
    assert texts == ["first", "second", "third"]


async def test_usage_is_of_a_session_or_of_all_and_by_message(
    sessions: AsyncSessionManager,
) -> None:
    for id in ("one", "two"):
        chat = await sessions.session(id)
        answer = await chat.append("assistant", "yes", id="m1")
        usage = Usage(
            id="u1",
            model="large",
            message=answer.id,
            input_tokens=10,
            output_tokens=2,
            cached_tokens=4,
            reasoning_tokens=1,
            cost_micros=30,
        )
        assert await chat.add_usage(usage)
        assert not await chat.add_usage(usage)
    [total] = await sessions.usage()
    assert (total.calls, total.input_tokens, total.output_tokens) == (2, 20, 4)
    assert (total.cached_tokens, total.reasoning_tokens, total.cost_micros) == (8, 2, 60)
    [one] = await sessions.usage("one", by="message")
    assert (one.message, one.calls) == ("m1", 1)

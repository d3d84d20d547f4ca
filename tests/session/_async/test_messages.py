from __future__ import annotations

from typing import Any

import pytest

from sapwood import (
    ROOT,
    AsyncSession,
    AsyncSessionManager,
    NewMessage,
    OtherPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.errors import (
    ConflictError,
    MessageConflictError,
    NotFoundError,
    StaleTipError,
    UsageError,
)


async def test_text_becomes_a_text_part(chat: AsyncSession) -> None:
    message = await chat.append("user", "hello")
    assert message.parts == [TextPart(text="hello")]
    assert (message.role, message.depth, message.home) == ("user", 1, "chat")


async def test_content_may_mix_text_parts_and_json(chat: AsyncSession) -> None:
    call = {"type": "tool_call", "call_id": "1", "name": "look", "input": {"n": 10**40}, "x": 1}
    other = OtherPart(value={"type": "citation", "of": [1, None]})
    message = await chat.append("assistant", ["on it", TextPart(text="now"), call, other])
    assert [part.to_json() for part in message.parts[2:]] == [call, other.value]
    assert isinstance(message.parts[2], ToolCallPart)
    assert message.parts[3] == other


async def test_a_single_part_or_json_object_is_content(chat: AsyncSession) -> None:
    result = {"type": "tool_result", "call_id": "1", "output": "42"}
    await chat.append("assistant", ToolCallPart(call_id="1", name="add", input={}))
    assert (await chat.append("tool", result)).parts == [ToolResultPart(call_id="1", output="42")]
    assert (await chat.append("user", TextPart(text="a"))).text == "a"


async def test_messages_follow_one_another(chat: AsyncSession) -> None:
    first = await chat.append("user", "a")
    second = await chat.append("assistant", "b", metadata={"model": "m"})
    assert (second.depth, second.metadata) == (2, {"model": "m"})
    assert await chat.tip() == second.id
    assert [entry.id for entry in (await chat.history()).messages_only] == [first.id, second.id]


async def test_the_same_append_again_gives_the_stored_message(chat: AsyncSession) -> None:
    first = await chat.append("user", "a", id="m1", expected_tip=ROOT)
    again = await chat.append("user", "a", id="m1", expected_tip=ROOT)
    assert again == first
    assert len((await chat.history()).entries) == 1
    with pytest.raises(MessageConflictError):
        await chat.append("user", "b", id="m1")


async def test_append_all_takes_messages_and_pairs(chat: AsyncSession) -> None:
    new = NewMessage(role="assistant", parts=[TextPart(text="b")], id="m2")
    stored = await chat.append_all([("user", "a"), new, ("user", [TextPart(text="c")])])
    assert [message.text for message in stored] == ["a", "b", "c"]
    assert stored[1].id == "m2"


async def test_append_all_is_all_or_none(chat: AsyncSession) -> None:
    await chat.append("user", "a", id="m1")
    with pytest.raises(MessageConflictError):
        await chat.append_all([("user", "new"), NewMessage(role="user", parts=[], id="m1")])
    assert len((await chat.history()).entries) == 1


async def test_a_stale_tip_is_refused(chat: AsyncSession) -> None:
    first = await chat.append("user", "a")
    await chat.append("assistant", "b", expected_tip=first)
    with pytest.raises(StaleTipError):
        await chat.append("assistant", "c", expected_tip=first.id)


async def test_a_parent_makes_a_branch(chat: AsyncSession) -> None:
    question = await chat.append("user", "a")
    await chat.append("assistant", "b")
    other = await chat.append("assistant", "c", parent=question)
    assert other.depth == 2
    assert [entry.text for entry in (await chat.history()).messages_only] == ["a", "c"]
    with pytest.raises(NotFoundError):
        await chat.append("assistant", "d", parent="nowhere")


async def test_update_keeps_what_is_not_given(chat: AsyncSession) -> None:
    first = await chat.append("user", "a", metadata={"k": 1})
    by_id = await chat.update(first.id, "b")
    assert (by_id.text, by_id.role, by_id.metadata, by_id.version) == ("b", "user", {"k": 1}, 2)
    by_record = await chat.update(first, "c")
    assert (by_record.text, by_record.metadata) == ("c", {"k": 1})
    other = await chat.update(first, metadata={"k": 2}, role="system")
    assert (other.text, other.role, other.metadata) == ("c", "system", {"k": 2})


async def test_a_name_is_kept_until_another_is_given(chat: AsyncSession) -> None:
    said = await chat.append("user", "a", name="Ann")
    assert said.name == "Ann"
    kept = await chat.update(said, "b", role="user", metadata={})
    assert (kept.text, kept.name) == ("b", "Ann")
    assert (await chat.update(said, name="Bob")).name == "Bob"
    assert (await chat.prepare()).messages[0].name == "Bob"
    edited = await chat.edit(said, "c")
    assert (edited.name, edited.text) == ("Bob", "c")
    assert (await chat.update(said, name=None)).name is None
    assert (await chat.upsert("user", "d", id=said.id, name="Cy")).name == "Cy"
    with pytest.raises(UsageError):
        await chat.append(NewMessage(role="user", parts=[]), name="Ann")


async def test_all_messages_are_streamed_after_what_they_follow(chat: AsyncSession) -> None:
    first = await chat.append("user", "a")
    second = await chat.append("assistant", "b")
    third = await chat.append("assistant", "c", parent=first)
    streamed = [message.id async for message in chat.iter_messages(page=1)]
    assert streamed == [first.id, second.id, third.id]
    after = second.position
    assert [message.id async for message in chat.iter_messages(after=after)] == [third.id]
    assert await chat.get_parent(third) == first.id
    assert await chat.get_parent(first.id) is ROOT
    with pytest.raises(NotFoundError):
        await chat.get_parent("nowhere")


async def test_an_id_is_found_in_all_sessions_that_wrote_it(
    sessions: AsyncSessionManager,
) -> None:
    for name in ("b", "a"):
        await (await sessions.session(name)).append("user", "hello", id="m1")
    assert await sessions.find_homes("m1") == ["a", "b"]


async def test_update_keeps_what_was_changed_since_the_message_was_read(chat: AsyncSession) -> None:
    read = await chat.append("assistant", "x", metadata={"done": False})
    await chat.update(read.id, role="tool", metadata={"done": True})
    updated = await chat.update(read, "final text")
    assert (updated.text, updated.role, updated.metadata) == ("final text", "tool", {"done": True})


async def test_update_reads_nothing_when_all_is_given(
    chat: AsyncSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*args: object) -> None:
        raise AssertionError("it was read")

    answer = await chat.append("assistant", "Take ")
    monkeypatch.setattr(chat._stored.store, "find_messages", fail)
    for message in (answer, answer.id):
        updated = await chat.update(
            message, "Take tram 28", role="assistant", name=None, metadata={}
        )
        assert updated.text == "Take tram 28"


async def test_update_of_a_cut_message_does_not_lose_its_parts(chat: AsyncSession) -> None:
    await chat.append("assistant", ToolCallPart(call_id="1", name="look", input={}))
    await chat.append("tool", [ToolResultPart(call_id="1", output="x"), "by the way"])
    [cut] = (await chat.history(limit=1)).messages_only
    assert len(cut.parts) == 1
    updated = await chat.update(cut, metadata={"seen": True})
    assert len(updated.parts) == 2


async def test_a_fork_does_not_edit_what_it_inherited(chat: AsyncSession) -> None:
    first = await chat.append("user", "a")
    fork = await chat.fork("fork")
    with pytest.raises(ConflictError):
        await fork.update(first, "b")


async def test_delete_takes_one_or_several(chat: AsyncSession) -> None:
    a, b, c = await chat.append_all([("user", "a"), ("assistant", "b"), ("user", "c")])
    assert (await chat.delete(a)).ids == [a.id]
    assert (await chat.delete([b, c.id])).ids == [b.id, c.id]
    assert (await chat.history()).entries == []
    assert await chat.find(a.id) is None
    with pytest.raises(NotFoundError):
        await chat.get(a.id)


async def test_clear_keeps_the_record(sessions: AsyncSessionManager) -> None:
    chat = await sessions.create("chat", title="Chat", tags=["x"])
    await chat.append("user", "a", id="m1")
    assert (await chat.clear()).tip is ROOT
    record = await chat.record()
    assert (record.title, record.tags, record.messages) == ("Chat", ["x"], 0)
    assert (await chat.append("user", "other", id="m1")).depth == 1


@pytest.mark.parametrize("content", [b"bytes", 7, None, {"a", "b"}, ["ok", 7], [b"x"]])
async def test_what_is_no_content_is_refused(chat: AsyncSession, content: object) -> None:
    with pytest.raises(UsageError) as caught:
        await chat.append("user", content)  # type: ignore[arg-type]
    assert caught.value.path.startswith("content")
    assert await chat.tip() is ROOT


async def test_a_stored_message_in_place_of_the_role_is_refused(chat: AsyncSession) -> None:
    stored = await chat.append("user", "x")
    with pytest.raises(UsageError, match=r"a Message: give a NewMessage") as caught:
        await chat.append(stored)  # type: ignore[arg-type]
    assert caught.value.path == "message"
    with pytest.raises(UsageError, match="belong into it"):
        await chat.upsert({"role": "user", "content": "x"}, "y", id="m1")


@pytest.mark.parametrize(
    ("draft", "where"),
    [
        (("user", 5), "messages[1].content"),
        (("user", ["ok", 5]), "messages[1].content[1]"),
        (("user", None), "messages[1].content"),
        (({"role": "user"}, "x"), "messages[1].role"),
    ],
)
async def test_a_wrong_message_of_several_is_named(
    chat: AsyncSession, draft: Any, where: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await chat.append_all([("user", "a"), draft])
    assert caught.value.path == where
    assert where in str(caught.value)


@pytest.mark.parametrize("drafts", ["text", [], ["text"], [("user",)], [None]])
async def test_what_are_no_messages_is_refused(chat: AsyncSession, drafts: object) -> None:
    with pytest.raises(UsageError) as caught:
        await chat.append_all(drafts)  # type: ignore[arg-type]
    assert caught.value.path.startswith("messages")


async def test_deep_nesting_is_refused_with_its_place(chat: AsyncSession) -> None:
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"k": deep}
    with pytest.raises(UsageError):
        await chat.append("user", {"type": "text", "text": "a", "more": deep})

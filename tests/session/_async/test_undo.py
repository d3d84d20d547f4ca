from __future__ import annotations

import pytest

from sapwood import ROOT, AsyncSession, AsyncSessionManager, Message, NewMessage, TextPart
from sapwood.errors import (
    MessageConflictError,
    NotFoundError,
    SessionClosedError,
    StaleTipError,
    StoreCorruptError,
    UsageError,
)


async def talk(chat: AsyncSession, turns: int) -> list[Message]:
    said: list[Message] = []
    for number in range(turns):
        said += await chat.append_all(
            [("user", f"question {number}"), ("assistant", f"answer {number}")]
        )
    return said


async def test_undo_goes_back_over_whole_turns_and_redo_forward(chat: AsyncSession) -> None:
    said = await talk(chat, 3)
    assert (await chat.undo()).tip == said[3].id
    assert (await chat.undo()).tip == said[1].id
    assert (await chat.redo()).tip == said[3].id
    assert (await chat.redo()).tip == said[5].id
    with pytest.raises(UsageError, match="nothing to redo"):
        await chat.redo()
    assert (await chat.undo(3)).tip == ROOT
    assert (await chat.redo()).tip == said[5].id


async def test_undo_counts_turns_and_not_messages(chat: AsyncSession) -> None:
    first = await chat.append("user", "hi")
    before = await chat.append("assistant", "hello")
    await chat.append("user", "do it")
    await chat.append("assistant", {"type": "tool_call", "call_id": "c", "name": "f", "input": {}})
    await chat.append("user", {"type": "tool_result", "call_id": "c", "output": "ok"})
    await chat.append("assistant", "done")
    assert (await chat.undo()).tip == before.id
    assert (await chat.undo()).tip == ROOT
    assert await chat.find(first.id) is not None


async def test_undo_of_a_long_turn_reads_as_far_as_it_must(chat: AsyncSession) -> None:
    await chat.append("user", "one")
    answer = await chat.append("assistant", "first")
    await chat.append("user", "go")
    await chat.append_all([("assistant", f"step {n}") for n in range(300)])
    assert (await chat.undo()).tip == answer.id


async def test_there_is_nothing_to_redo_after_something_else_was_said(chat: AsyncSession) -> None:
    await talk(chat, 2)
    await chat.undo()
    await chat.append("user", "something else")
    with pytest.raises(UsageError, match="nothing to redo"):
        await chat.redo()
    with pytest.raises(UsageError):
        await chat.undo(9)


async def test_redo_never_goes_to_a_branch_that_was_given_up(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    await chat.undo()
    other = (await talk(chat, 1))[-1]
    assert (await chat.undo()).tip == said[1].id
    assert (await chat.redo()).tip == other.id
    # What was undone before something else was said is not on the way.
    with pytest.raises(UsageError, match="nothing to redo"):
        await chat.redo()
    assert await chat.tip() == other.id
    # Nor is it when the tip was moved by hand in between.
    await chat.undo()
    await chat.checkout(said[3])
    await chat.undo()
    assert (await chat.redo()).tip == said[3].id
    with pytest.raises(UsageError, match="nothing to redo"):
        await chat.redo()


async def test_undo_of_an_empty_session_is_refused(chat: AsyncSession) -> None:
    with pytest.raises(UsageError, match="no turn"):
        await chat.undo()


async def test_regenerate_goes_back_to_the_question_of_that_branch(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    assert (await chat.retry_from()).id == said[2].id
    other = await chat.append("assistant", "another answer")
    assert [message.id for message in await chat.children(said[2])] == [said[3].id, other.id]
    shown = [message.id for message in (await chat.history()).messages_only]
    assert shown == [said[0].id, said[1].id, said[2].id, other.id]
    # An answer on another branch than the tip's is asked for by name.
    assert (await chat.retry_from(said[1])).id == said[0].id
    assert (await chat.history()).messages_only == said[:1]


@pytest.mark.parametrize("answers", [49, 50, 51, 99, 100, 101, 120])
async def test_regenerate_finds_the_question_however_far_above_it_is(
    chat: AsyncSession, answers: int
) -> None:
    said = await talk(chat, 2)
    asked = await chat.append("user", "go")
    steps = await chat.append_all([("assistant", f"step {n}") for n in range(answers)])
    await chat.append("user", "and then?")
    assert (await chat.retry_from(steps[-1])).id == asked.id
    assert (await chat.retry_from(asked)).id == said[2].id
    await chat.checkout(steps[-1])
    assert (await chat.retry_from()).id == asked.id


async def test_regenerate_of_a_question_goes_to_the_one_before(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    assert (await chat.retry_from(said[2])).id == said[0].id


async def test_regenerate_without_a_question_is_refused(chat: AsyncSession) -> None:
    await chat.append("assistant", "hello")
    with pytest.raises(UsageError, match="no user message"):
        await chat.retry_from()


async def test_an_edit_is_a_branch_beside_the_old_message(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    new = await chat.edit(said[2], "another question", id="edited")
    assert new.id == "edited"
    assert new.role == "user"
    assert [message.id for message in await chat.children(said[1])] == [said[2].id, "edited"]
    assert (await chat.tip()) == "edited"
    first = await chat.edit(said[0].id, "from the start")
    assert [message.id for message in await chat.children()] == [said[0].id, first.id]
    with pytest.raises(NotFoundError):
        await chat.edit("nobody", "x")


async def test_upsert_appends_and_then_updates(chat: AsyncSession) -> None:
    message = await chat.upsert("assistant", "It is", id="a")
    again = await chat.upsert("assistant", "It is sunny", id="a")
    assert (again.id, again.version, again.text) == ("a", message.version + 1, "It is sunny")
    assert len((await chat.history()).messages_only) == 1
    with pytest.raises(UsageError, match="id"):
        await chat.upsert("assistant", "no id")
    await chat.delete("a")
    with pytest.raises(MessageConflictError):
        await chat.upsert("assistant", "erased stays erased", id="a")


async def test_tip_and_path_length(chat: AsyncSession) -> None:
    assert await chat.tip() is ROOT
    assert await chat.path_length() == 0
    said = await talk(chat, 2)
    assert await chat.tip() == said[-1].id
    assert await chat.path_length() == 4
    assert await chat.path_length(said[1]) == 2
    assert await chat.path_length(ROOT) == 0


async def test_a_fork_does_not_redo_what_it_does_not_see(chat: AsyncSession) -> None:
    await chat.append_all([("user", "q1"), ("assistant", "a1"), ("user", "q2")])
    await chat.undo()
    fork = await chat.fork("fork")
    with pytest.raises(UsageError, match="nothing to redo"):
        await fork.redo()
    await chat.redo()
    assert [m.text for m in (await chat.history()).messages_only] == ["q1", "a1", "q2"]


@pytest.mark.parametrize("damage", [b"{broken", b"[]", b'{"tips": [7]}', b"\xff"])
async def test_a_damaged_note_of_what_was_undone_is_told(
    chat: AsyncSession, sessions: AsyncSessionManager, damage: bytes
) -> None:
    said = await talk(chat, 2)
    await chat.undo()
    await sessions.store.put_document("ada", "redo", damage, session="chat")
    with pytest.raises(StoreCorruptError, match="redo"):
        await chat.redo()
    assert await chat.tip() == said[1].id


async def test_pop_takes_the_tip_back_one_place_at_a_time(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    for place in (said[2].id, said[1].id, said[0].id, ROOT):
        assert (await chat.pop()).tip == place
    with pytest.raises(UsageError, match="no message to take back"):
        await chat.pop()
    assert [await chat.find(it.id) for it in said] == said


async def test_pop_goes_to_the_place_of_a_deleted_message(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    await chat.delete([said[2].id, said[3].id])
    assert (await chat.pop()).tip == said[2].id
    assert (await chat.pop()).tip == said[1].id


async def test_pop_refuses_a_surprise(chat: AsyncSession) -> None:
    said = await talk(chat, 1)
    new = await chat.append("user", "and now?")
    with pytest.raises(StaleTipError):
        await chat.pop(expected_tip=said[1])
    assert await chat.tip() == new.id
    assert (await chat.pop(expected_tip=new)).tip == said[1].id


async def test_pop_compares_the_tip_that_it_looked_at(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    await chat.checkout(said[1])
    for expected in (said[2], "nobody", ROOT):
        with pytest.raises(StaleTipError):
            await chat.pop(expected_tip=expected)
    assert await chat.tip() == said[1].id


async def test_a_fork_pops_what_it_inherited(chat: AsyncSession) -> None:
    said = await talk(chat, 1)
    fork = await chat.fork()
    assert (await fork.pop()).tip == said[0].id
    assert await chat.tip() == said[1].id


async def test_upsert_takes_what_is_kept_beside_a_message(chat: AsyncSession) -> None:
    def said(text: str, n: int) -> NewMessage:
        return NewMessage(id="m", role="user", parts=[TextPart(text=text)], extra={"n": n})

    for text, n in (("one", 1), ("one", 2), ("two", 3)):
        stored = await chat.upsert(said(text, n))
        assert (stored.text, stored.extra) == (text, {"n": n})
    stored = await chat.upsert("user", "three", id="m")
    assert (stored.text, stored.extra) == ("three", {"n": 3})


async def test_an_edit_follows_what_the_old_message_follows(chat: AsyncSession) -> None:
    said = await talk(chat, 2)
    await chat.delete([said[1].id])
    new = await chat.edit(said[2], "another question")
    assert new.depth == said[2].depth
    assert [it.id for it in await chat.children(said[1].id)] == [said[2].id, new.id]


async def test_a_closed_session_takes_no_more_until_it_is_opened(chat: AsyncSession) -> None:
    await talk(chat, 1)
    closed = await chat.update_record(closed=True, merge={"why": "done"})
    assert (closed.closed, closed.attributes) == (True, {"why": "done"})
    with pytest.raises(SessionClosedError, match="closed: reopen it"):
        await chat.append("user", "more")
    with pytest.raises(SessionClosedError):
        await chat.pop()
    await chat.update_record(closed=False)
    await chat.append("user", "more")

"""Answers that come in pieces: one message, kept while it is written, and read by others."""

from __future__ import annotations

from typing import Any

import pytest

import sapwood
from sapwood.errors import (
    LeaseLostError,
    MessageTooLargeError,
    StoreUnavailableError,
    TurnStoppedError,
    UsageError,
)
from sapwood.model import Message, TextPart, ToolCallPart, ToolResultPart
from sapwood.rules.codec import MAX_MESSAGE_BYTES

CALL = ToolCallPart(call_id="c1", name="look", input={})


async def last(chat: sapwood.AsyncSession) -> Message:
    return (await chat.history()).messages_only[-1]


async def said(chat: sapwood.AsyncSession) -> tuple[str, str]:
    message = await last(chat)
    return message.text, message.extra["turn"]["state"]


async def test_an_answer_is_read_while_it_is_written_and_completes_its_turn(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    other = await sessions.session("chat")
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer(interval_s=0)
        assert not answer.add_text("On")
        await answer.save()
        assert await said(other) == ("On", "partial")
        assert answer.add_text(" its")
        await answer.save()
        assert await said(other) == ("On its", "partial")
        version = (await last(other)).version
        await answer.save()
        assert (await last(other)).version == version
        answer.add_text(" way.")
        done = await answer.complete()
        assert done is not None
        assert turn.state == "complete"
    assert await said(other) == ("On its way.", "complete")
    assert (await last(other)).id == answer.id == done.id
    assert len((await chat.history()).entries) == 2
    assert [it.entry.id for it in (await chat.search("way")).hits] == [answer.id]


async def test_a_quick_answer_is_one_append(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer()
        for piece in ("a", "b", "c"):
            if answer.add_text(piece):
                await answer.save()
    assert await said(chat) == ("abc", "complete")
    assert (await last(chat)).version == 1


async def test_the_rest_is_stored_when_a_turn_is_left(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer()
        answer.add_text("a")
        await answer.save()
        answer.add_text("b")
    assert await said(chat) == ("ab", "complete")
    assert turn.state == "complete"


async def test_an_answer_that_was_cut_off_keeps_what_came_and_is_marked(
    chat: sapwood.AsyncSession,
) -> None:
    async def cut_off() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            answer = turn.answer()
            answer.add_text("a")
            await answer.save()
            answer.add_text("b")
            raise KeyError

    with pytest.raises(KeyError):
        await cut_off()
    assert await said(chat) == ("ab", "interrupted")
    assert [it.reason for it in await chat.turns()] == ["KeyError"]


async def test_an_answer_with_a_call_goes_on(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer()
        answer.add_reasoning("hm")
        answer.add_part(CALL)
        with pytest.raises(UsageError, match="finish it first"):
            await turn.append("tool", [ToolResultPart(call_id="c1", output=1)])
        with pytest.raises(UsageError, match="finish it first"):
            turn.answer()
        called = await answer.finish(metadata={"model": "m"})
        assert (called.metadata, called.reasoning) == ({"model": "m"}, "hm")
        with pytest.raises(UsageError, match="is finished"):
            await answer.save()
        await turn.append("tool", [ToolResultPart(call_id="c1", output=1)])
        answer = turn.answer()
        with pytest.raises(UsageError, match="empty"):
            await answer.finish()
        answer.add_text("x")
        await answer.save()
        await answer.complete("whole")
    assert await said(chat) == ("whole", "complete")
    assert len((await chat.history()).entries) == 4


async def test_an_answer_may_wait_for_an_approval(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
        answer = turn.answer()
        answer.add_part(CALL)
        await turn.wait_for_approval()
    assert (await last(chat)).parts == [CALL]
    assert (await last(chat)).extra["turn"]["state"] == "waiting"
    async with chat.turn(resume=asked) as again:
        await again.append("tool", [ToolResultPart(call_id="c1", output=1)])
        await again.complete("assistant", "a")


async def test_an_answer_that_calls_and_was_left_is_interrupted(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        turn.answer().add_part(CALL)
    assert (await last(chat)).extra["turn"]["state"] == "interrupted"


async def test_an_answer_without_a_word_leaves_nothing(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        turn.answer()
    assert turn.state == "interrupted"
    assert await said(chat) == ("q", "interrupted")


async def test_a_stopped_answer_keeps_what_came(chat: sapwood.AsyncSession) -> None:
    async def stopped() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            answer = turn.answer()
            answer.add_text("a")
            await answer.save()
            await chat.stop_turn()
            answer.add_text("b")
            await answer.save()

    with pytest.raises(TurnStoppedError):
        await stopped()
    assert await said(chat) == ("ab", "interrupted")


async def test_who_lost_the_turn_adds_nothing_to_its_answer(chat: sapwood.AsyncSession) -> None:
    async def lost() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            answer = turn.answer()
            answer.add_text("a")
            await answer.save()
            await chat._stored.delete_document("turn")
            async with chat.turn() as other:
                await other.append("user", "r")
            answer.add_text("b")
            await answer.save()

    with pytest.raises(LeaseLostError):
        await lost()
    texts = [(it.text, it.extra["turn"]["state"]) for it in (await chat.history()).messages_only]
    assert texts == [("q", "open"), ("a", "interrupted"), ("r", "interrupted")]


async def test_an_answer_of_a_process_that_died_is_marked_though_the_tip_was_moved(
    chat: sapwood.AsyncSession,
) -> None:
    dead = await chat.turn().__aenter__()
    asked = await dead.append("user", "q")
    answer = dead.answer()
    answer.add_text("a")
    await answer.save()
    await dead._lease.end()
    await chat._stored.delete_document("turn")
    await chat.retry_from()
    async with chat.turn(resume=asked) as again:
        assert again.attempts == 2
        await again.complete("assistant", "b")
    assert (await chat.get(answer.id)).extra["turn"]["state"] == "interrupted"
    assert await said(chat) == ("b", "complete")
    assert (await chat.get(asked.id)).extra["turn"]["state"] == "open"


async def test_an_answer_is_followed_to_its_end(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    other, seen = await sessions.session("chat"), []
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer()
        answer.add_text("a")
        await answer.save()
        async for message in other.iter_answer(answer.id, pause_s=0.001):
            seen.append((message.text, message.extra["turn"]["state"]))
            answer.add_text("b")
            await (answer.save() if len(seen) < 3 else answer.complete())
            if len(seen) == 3:
                break
        seen += [it.text async for it in other.iter_answer(answer.id)]  # type: ignore[misc]
    assert seen == [("a", "partial"), ("ab", "partial"), ("abb", "partial"), "abbb"]


async def test_who_follows_an_answer_that_was_cut_off_is_not_left_waiting(
    chat: sapwood.AsyncSession,
) -> None:
    dead = await chat.turn().__aenter__()
    await dead.append("user", "q")
    answer = dead.answer()
    answer.add_text("a")
    await answer.save()
    await dead._lease.end()
    await chat._stored.delete_document("turn")
    assert [it.text async for it in chat.iter_answer(answer.id, pause_s=0.001)] == ["a"]


@pytest.mark.parametrize("more", ["", "b"])
async def test_a_first_write_whose_outcome_was_not_told_is_not_done_twice(
    chat: sapwood.AsyncSession, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    store = chat._stored.store
    append = store.append

    async def lose_the_answer(*args: Any, **fields: Any) -> Any:
        await append(*args, **fields)
        raise StoreUnavailableError("no answer")

    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer()
        answer.add_text("a")
        with monkeypatch.context() as patch:
            patch.setattr(store, "append", lose_the_answer)
            with pytest.raises(StoreUnavailableError):
                await answer.save()
        answer.add_text(more)
    assert await said(chat) == (f"a{more}", "complete")
    assert len((await chat.history()).entries) == 2


async def test_a_foreign_message_is_not_overwritten(chat: sapwood.AsyncSession) -> None:
    await chat.append("assistant", "mine", id="m")
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = turn.answer(id="m")
        answer.add_text("a")
        with pytest.raises(sapwood.errors.MessageConflictError):
            await answer.save()
        turn._answer = None
    assert (await chat.get("m")).parts == [TextPart(text="mine")]


async def answer_too_much(chat: sapwood.AsyncSession, *, is_stored: bool) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q", id="q")
        answer = turn.answer()
        if is_stored:
            answer.add_text("a")
            await answer.save()
        answer.add_text("a" * MAX_MESSAGE_BYTES)


@pytest.mark.parametrize("is_stored", [False, True])
async def test_an_answer_that_is_too_large_does_not_keep_the_turn(
    chat: sapwood.AsyncSession, is_stored: bool
) -> None:
    with pytest.raises(MessageTooLargeError):
        await answer_too_much(chat, is_stored=is_stored)
    record = await chat.find_turn("q")
    assert record is not None
    assert (record.state, record.reason) == ("interrupted", "MessageTooLargeError")
    last = (await chat.history()).messages_only[-1]
    assert last.text == ("a" if is_stored else "q")
    assert last.extra["turn"]["state"] == "interrupted"
    async with chat.turn(wait_s=0) as turn:
        await turn.append("user", "next")

"""Turns: one at a time, fenced, and never taken for an answer that they are not."""

from __future__ import annotations

from typing import Any

import pytest

import sapwood
from sapwood.errors import (
    AlreadyExistsError,
    LeaseLostError,
    NotFoundError,
    SessionBusyError,
    SessionClosedError,
    StaleTipError,
    StoreUnavailableError,
    TurnStoppedError,
    UsageError,
)
from sapwood.model import Message, NewMessage, ToolCallPart, ToolResultPart

CALL = ToolCallPart(call_id="c1", name="look", input={})
RESULT = ToolResultPart(call_id="c1", output="a boat")


def mark(message: Message) -> tuple[Any, Any, Any]:
    found = message.extra["turn"]
    return found["id"], found["state"], found["session"]


async def states(chat: sapwood.AsyncSession) -> list[tuple[str, str]]:
    found = (await chat.history()).messages_only
    return [(message.text, message.extra["turn"]["state"]) for message in found]


async def is_free(chat: sapwood.AsyncSession) -> bool:
    """Whether nothing of a turn at work is stored."""
    keys = [it.key for it in await chat._stored.store.list_documents("ada", session=chat.id)]
    return "turn" not in keys and "turn-open" not in keys


async def leave_dead(chat: sapwood.AsyncSession, turn: Any) -> None:
    """Leave a turn as a process does that is killed, once its lease is over."""
    await turn._lease.end()
    await chat._stored.delete_document("turn")


async def test_a_turn_holds_the_session_from_its_first_append_to_its_answer(
    chat: sapwood.AsyncSession,
) -> None:
    async with chat.turn() as turn:
        assert (turn.id, turn.state, turn.is_held) == (None, None, False)
        asked = await turn.append("user", "Where is it?")
        assert (turn.id, turn.state, turn.attempts, turn.is_held) == (asked.id, "open", 1, True)
        assert not await is_free(chat)
        answered = await turn.complete("assistant", "On its way.")
        assert answered is not None
        assert (turn.state, turn.is_held) == ("complete", False)
        assert await is_free(chat)
    assert mark(await chat.get(asked.id)) == (asked.id, "open", "chat")
    assert mark(await chat.get(answered.id)) == (asked.id, "complete", "chat")
    record = await chat.find_turn(asked.id)
    assert record is not None
    assert (record.id, record.state, record.attempts, record.last, record.reason) == (
        asked.id,
        "complete",
        1,
        answered.id,
        None,
    )
    assert await chat.find_turn(answered) == record
    assert await chat.turns() == [record]
    assert await chat.find_turn("nobody") is None


async def test_a_turn_that_is_left_with_an_answer_is_complete(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        await turn.append("assistant", [CALL])
        await turn.append("tool", [RESULT])
        await turn.append("assistant", "a")
    assert [it[1] for it in await states(chat)] == ["open", "open", "open", "complete"]
    assert turn.state == "complete"
    assert await is_free(chat)


@pytest.mark.parametrize(
    "last", [("user", "q"), ("assistant", [CALL]), ("tool", [RESULT]), ("system", "s")]
)
async def test_a_turn_that_is_left_without_an_answer_is_interrupted(
    chat: sapwood.AsyncSession, last: Any
) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        if last[0] == "tool":
            await turn.append("assistant", [CALL])
        await turn.append(*last)
    found = await chat.find_turn(str(turn.id))
    assert found is not None
    assert (found.state, found.reason) == ("interrupted", "left")
    assert (await states(chat))[-1][1] == "interrupted"
    assert await is_free(chat)


async def test_an_exception_marks_a_turn_interrupted_and_is_raised(
    chat: sapwood.AsyncSession,
) -> None:
    with pytest.raises(KeyError):  # noqa: PT012
        turn = chat.turn()
        async with turn:
            await turn.append("user", "q")
            await turn.append("assistant", "a")
            raise KeyError("x")
    found = await chat.find_turn(str(turn.id))
    assert found is not None
    assert (found.state, found.reason) == ("interrupted", "KeyError")
    assert (await states(chat))[-1] == ("a", "interrupted")
    assert await is_free(chat)


async def test_a_turn_in_which_nothing_was_appended_costs_nothing(
    chat: sapwood.AsyncSession,
) -> None:
    async with chat.turn():
        pass
    empty = chat.turn()
    await empty.__aenter__()
    await empty.__aexit__(KeyError, KeyError(), None)
    assert await chat.turns() == []
    assert await is_free(chat)


async def test_another_turn_waits_or_is_busy(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    other = await sessions.session("chat")
    async with chat.turn() as turn:
        await turn.append("user", "one")
        with pytest.raises(SessionBusyError, match="'chat' is in the turn"):
            await (await other.turn(wait_s=0).__aenter__()).append("user", "two")
        with pytest.raises(SessionBusyError):
            await (await other.turn(wait_s=0.05).__aenter__()).append("user", "two")
        await turn.append("assistant", "1")
    async with other.turn(wait_s=0) as second:
        await second.append("user", "two")
    assert [it[0] for it in await states(chat)] == ["one", "1", "two"]


async def test_a_write_after_the_lease_was_lost_is_refused(chat: sapwood.AsyncSession) -> None:
    with pytest.raises(LeaseLostError):
        await lose_and_write(chat)
    assert [it[0] for it in await states(chat)] == ["one"]
    assert [it.state for it in await chat.turns()] == ["interrupted"]


async def lose_and_write(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "one")
        await chat._stored.delete_document("turn")
        for write in (
            lambda: turn.append("assistant", "late"),
            lambda: turn.append_all([("assistant", "late")]),
            lambda: turn.update(asked, "late"),
            lambda: turn.edit(asked, "late"),
            lambda: turn.complete("assistant", "late"),
            lambda: turn.complete(),
            lambda: turn.wait_for_approval(),
        ):
            with pytest.raises(LeaseLostError):
                await write()


async def test_a_turn_whose_process_died_is_interrupted_and_marked_by_the_next(
    chat: sapwood.AsyncSession,
) -> None:
    dead = await chat.turn().__aenter__()
    await dead.append("user", "one")
    await dead.append("assistant", [CALL])
    found = await chat.find_turn(str(dead.id))
    assert found is not None
    assert found.state == "open"
    await leave_dead(chat, dead)
    found = await chat.find_turn(str(dead.id))
    assert found is not None
    assert (found.state, found.reason) == ("interrupted", "died")
    assert [it.state for it in await chat.turns()] == ["interrupted"]
    async with chat.turn(wait_s=0) as turn:
        await turn.append("user", "two")
        assert [it[1] for it in await states(chat)] == ["open", "interrupted", "open"]
        with pytest.raises(LeaseLostError):
            await dead.append("assistant", "late")
        await turn.complete("assistant", "2")
    stored = await chat.find_turn(str(dead.id))
    assert stored is not None
    assert (stored.state, stored.reason, stored.last) == (
        "interrupted",
        "died",
        (await chat.history()).messages_only[1].id,
    )
    assert [it[0] for it in await states(chat)] == ["one", "", "two", "2"]


async def test_a_turn_that_waits_for_an_approval_holds_nothing_and_is_taken_up_again(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
        await turn.wait_for_approval("assistant", [CALL])
        with pytest.raises(UsageError, match="waiting"):
            await turn.append("tool", [RESULT])
    assert await is_free(chat)
    assert (await states(chat))[-1][1] == "waiting"
    found = await chat.find_turn(asked.id)
    assert found is not None
    assert found.state == "waiting"
    later = await sessions.session("chat")
    async with later.turn(resume=asked.id) as again:
        assert (again.id, again.attempts, again.is_held) == (asked.id, 1, True)
        assert (await states(chat))[-1][1] == "open"
        with pytest.raises(SessionBusyError):
            await chat.turn(wait_s=0, resume=asked.id).__aenter__()
        await again.append("tool", [RESULT])
        await again.complete("assistant", "a")
    assert [it[1] for it in await states(chat)] == ["open", "open", "open", "complete"]
    assert [it.state for it in await chat.turns()] == ["complete"]


async def test_it_may_wait_at_what_was_appended_before(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        called = await turn.append("assistant", [CALL])
        waits = await turn.wait_for_approval()
        assert waits is not None
        assert waits.id == called.id
    assert (await states(chat))[-1][1] == "waiting"
    async with chat.turn(resume=waits) as again:
        assert again.id == turn.id


async def test_an_interrupted_turn_is_another_attempt(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
    assert (await states(chat)) == [("q", "interrupted")]
    async with chat.turn(resume=asked) as again:
        assert again.attempts == 2
        assert (await states(chat)) == [("q", "open")]
        await again.complete("assistant", "a")
    record = await chat.find_turn(asked)
    assert record is not None
    assert (record.state, record.attempts, record.reason) == ("complete", 2, None)


async def test_a_turn_that_died_is_marked_before_it_is_taken_up(chat: sapwood.AsyncSession) -> None:
    dead = await chat.turn().__aenter__()
    asked = await dead.append("user", "q")
    await leave_dead(chat, dead)
    async with chat.turn(resume=asked, wait_s=0) as again:
        assert again.attempts == 2
        await again.append("assistant", "a")
    assert await states(chat) == [("q", "open"), ("a", "complete")]


async def test_an_answer_is_given_anew(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
        old = await turn.complete("assistant", "a")
    assert old is not None
    with pytest.raises(AlreadyExistsError, match="complete"):
        await chat.turn(resume=asked).__aenter__()
    await chat.retry_from()
    async with chat.turn(resume=asked) as again:
        await again.complete("assistant", "b")
    assert await states(chat) == [("q", "open"), ("b", "complete")]
    assert mark(await chat.get(old.id))[1] == "complete"


async def test_a_turn_is_not_taken_up_where_the_session_went_on(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
        await turn.wait_for_approval("assistant", [CALL])
    async with chat.turn() as other:
        await other.append("user", "never mind")
        await other.append("assistant", "ok")
    with pytest.raises(StaleTipError, match="went on"):
        await chat.turn(resume=asked).__aenter__()
    assert await is_free(chat)
    with pytest.raises(NotFoundError):
        await chat.turn(resume="nobody").__aenter__()
    await chat.checkout(str((await chat.find_turn(asked)).last))  # type: ignore[union-attr]
    async with chat.turn(resume=asked) as again:
        await again.append("tool", [RESULT])


async def test_a_message_that_comes_again_takes_its_turn_up_or_was_answered(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    dead = await chat.turn().__aenter__()
    await dead.append("user", "q", id="m1")
    await leave_dead(chat, dead)
    async with chat.turn() as turn:
        await turn.append("user", "q", id="m1")
        assert (turn.id, turn.attempts, turn.is_held) == ("m1", 2, True)
        tab = await sessions.session("chat")
        with pytest.raises(SessionBusyError):
            await (await tab.turn(wait_s=0).__aenter__()).append("user", "q", id="m1")
        await turn.complete("assistant", "a", id="m2")
        assert await states(chat) == [("q", "open"), ("a", "complete")]
    with pytest.raises(AlreadyExistsError, match="complete"):
        await (await chat.turn().__aenter__()).append("user", "q", id="m1")
    assert await is_free(chat)
    assert await states(chat) == [("q", "open"), ("a", "complete")]


async def test_a_message_that_was_appended_without_a_turn_gets_one(
    chat: sapwood.AsyncSession,
) -> None:
    asked = await chat.append("user", "q", id="m1")
    async with chat.turn(resume=asked) as turn:
        assert (turn.id, turn.attempts) == ("m1", 1)
        await turn.complete("assistant", "a")
    assert await states(chat) == [("q", "open"), ("a", "complete")]


async def test_a_turn_is_stopped_from_elsewhere(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    other = await sessions.session("chat")
    assert not await other.stop_turn()
    with pytest.raises(TurnStoppedError):  # noqa: PT012
        turn = chat.turn()
        async with turn:
            await turn.append("user", "q")
            assert await other.stop_turn()
            assert not turn.stopped
            with pytest.raises(TurnStoppedError):
                await turn.append("assistant", "a")
            assert turn.stopped
            assert not turn.is_held
            await turn.append("assistant", "a")
    found = await chat.find_turn(str(turn.id))
    assert found is not None
    assert (found.state, found.reason) == ("interrupted", "stopped")
    assert await states(chat) == [("q", "interrupted")]
    assert await is_free(chat)


async def test_a_turn_that_is_stopped_before_it_is_left_is_not_complete(
    chat: sapwood.AsyncSession,
) -> None:
    with pytest.raises(TurnStoppedError):  # noqa: PT012
        turn = chat.turn()
        async with turn:
            await turn.append("user", "q")
            await turn.append("assistant", "a")
            await chat.stop_turn()
    assert (await states(chat))[-1] == ("a", "interrupted")
    with pytest.raises(KeyError):  # noqa: PT012
        turn = chat.turn()
        async with turn:
            await turn.append("user", "q")
            await chat.stop_turn()
            raise KeyError
    found = await chat.find_turn(str(turn.id))
    assert found is not None
    assert found.reason == "stopped"
    assert await is_free(chat)


@pytest.mark.parametrize("closed", [True, False])
async def test_closing_and_opening_again_end_a_turn(
    chat: sapwood.AsyncSession, closed: bool
) -> None:
    with pytest.raises((LeaseLostError, SessionClosedError)):  # noqa: PT012
        turn = chat.turn()
        async with turn:
            await turn.append("user", "q")
            await chat.update_record(closed=closed)
            await turn.append("assistant", "a")
    with pytest.raises(SessionClosedError):  # noqa: PT012
        await chat.update_record(closed=True)
        async with chat.turn() as late:
            await late.append("user", "r")
    await chat.update_record(closed=False)
    async with chat.turn() as after:
        await after.append("user", "s")
        await after.complete("assistant", "t")
    assert await states(chat) == [("q", "interrupted"), ("s", "open"), ("t", "complete")]
    assert [it.state for it in await chat.turns()] == ["interrupted", "complete"]


async def test_a_clear_ends_a_turn_and_takes_what_is_known_of_all(
    chat: sapwood.AsyncSession,
) -> None:
    with pytest.raises(LeaseLostError):  # noqa: PT012
        turn = chat.turn()
        async with turn:
            await turn.append("user", "q", id="m")
            await chat.clear()
            await turn.append("assistant", "a")
    assert await chat.turns() == []
    async with chat.turn() as turn:
        await turn.append("user", "q", id="m")
        await turn.complete("assistant", "a")


async def test_a_fork_has_no_turns_of_its_own_and_answers_anew(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
        fork = await chat.fork()
        assert await fork.turns() == []
        async with fork.turn(resume=asked, wait_s=0) as mine:
            await mine.complete("assistant", "b")
        await turn.complete("assistant", "a")
    assert (await fork.history()).messages_only[-1].extra["turn"]["session"] == fork.id
    assert [it[0] for it in await states(chat)] == ["q", "a"]


async def test_a_turn_in_one_write(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as busy:
        await busy.append("user", "q")
        with pytest.raises(SessionBusyError):
            await (await chat.turn(wait_s=0).__aenter__()).complete("assistant", "note")
        await busy.complete("assistant", "a")
    async with chat.turn() as turn:
        done = await turn.complete("assistant", "note")
    assert done is not None
    assert turn.id == done.id
    assert await is_free(chat)
    assert [it.state for it in await chat.turns()] == ["complete", "complete"]


async def test_a_call_that_is_repeated_is_acknowledged(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q", id="m1")
        turn._lease.fence, turn._record = None, None  # as if its answer had been lost
        await turn.append("user", "q", id="m1")
        assert turn.attempts == 1
        await turn.append("assistant", "a", id="m2")
        done = await turn.complete("assistant", "a", id="m2")
        assert done is not None
        assert turn.state == "complete"
    assert await states(chat) == [("q", "open"), ("a", "complete")]
    assert await is_free(chat)


async def test_what_is_edited_meanwhile_stays_edited(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        answer = await turn.append("assistant", "a", metadata={"k": 1})
        await chat.update(answer, "better")
    found = (await chat.history()).messages_only[-1]
    assert (found.text, found.metadata, found.extra["turn"]["state"]) == (
        "better",
        {"k": 1},
        "complete",
    )


async def test_a_turn_whose_last_message_was_deleted_is_interrupted(
    chat: sapwood.AsyncSession,
) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        await chat.delete(await turn.append("assistant", "a"))
    assert turn.state == "interrupted"
    assert await is_free(chat)


async def test_extra_of_a_message_is_kept(chat: sapwood.AsyncSession) -> None:
    from sapwood import TextPart

    new = NewMessage(role="user", parts=[TextPart(text="q")], extra={"mine": 1})
    async with chat.turn() as turn:
        message = await turn.append(new)
    found = await chat.get(message.id)
    assert found.extra["mine"] == 1
    assert found.extra["turn"]["state"] == "interrupted"


async def test_an_edited_question_is_a_turn_of_its_own(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
        await turn.complete("assistant", "a")
    async with chat.turn() as again:
        new = await again.edit(asked, "r")
        await again.complete("assistant", "b")
    assert again.id == new.id
    assert await states(chat) == [("r", "open"), ("b", "complete")]


async def test_a_turn_of_a_builder_needs_an_id_for_its_message_alone(
    sessions: sapwood.AsyncSessionManager,
) -> None:
    chat = sapwood.AsyncSession.create(sessions.store, owner="ada", id="new")
    with pytest.raises(UsageError, match="needs an id"):
        await (await chat.turn().__aenter__()).append("user", "q")
    async with chat.turn() as turn:
        await turn.append("user", "q", id="m1")
        await turn.append("assistant", "a")
    assert await states(chat) == [("q", "open"), ("a", "complete")]


async def test_turns_are_listed_a_page_at_a_time(chat: sapwood.AsyncSession) -> None:
    for n in range(5):
        async with chat.turn() as turn:
            await turn.append("user", "q", id=f"m{n}")
            await turn.complete("assistant", "a")
    assert [it.id for it in await chat.turns(limit=2)] == ["m0", "m1"]
    assert [it.id for it in await chat.turns(after="m1", limit=2)] == ["m2", "m3"]


async def test_a_turn_whose_begin_was_not_told_is_found_and_ended(
    chat: sapwood.AsyncSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = chat._stored.store
    append = store.append

    async def lose_the_answer(*args: Any, **fields: Any) -> Any:
        await append(*args, **fields)
        raise StoreUnavailableError("no answer")

    async with chat.turn() as turn:
        monkeypatch.setattr(store, "append", lose_the_answer)
        with pytest.raises(StoreUnavailableError):
            await turn.append("user", "q")
    assert await states(chat) == [("q", "interrupted")]
    assert await is_free(chat)


async def test_a_turn_whose_taking_up_was_not_told_is_ended(
    chat: sapwood.AsyncSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "q")
        await turn.wait_for_approval("assistant", [CALL])
    store = chat._stored.store
    update = store.update_message
    lost: list[str] = []

    async def lose_an_answer(*args: Any, **fields: Any) -> Any:
        updated = await update(*args, **fields)
        if not lost:
            lost.append("once")
            raise StoreUnavailableError("no answer")
        return updated

    monkeypatch.setattr(store, "update_message", lose_an_answer)
    with pytest.raises(StoreUnavailableError):
        await chat.turn(resume=asked).__aenter__()
    assert await is_free(chat)
    found = await chat.find_turn(asked)
    assert found is not None
    assert (found.state, found.reason) == ("interrupted", "StoreUnavailableError")


async def test_what_cannot_be_done_with_a_turn_is_told(chat: sapwood.AsyncSession) -> None:
    with pytest.raises(UsageError, match="not entered"):
        await chat.turn().append("user", "q")
    with pytest.raises(UsageError, match="wait_s"):
        chat.turn(wait_s=-1)
    async with chat.turn() as turn:
        with pytest.raises(UsageError, match="not begun"):
            await turn.complete()
        with pytest.raises(UsageError, match="not begun"):
            await turn.update("m", "text", role="user", name=None, metadata={})
        with pytest.raises(UsageError, match="entered before"):
            await turn.__aenter__()
        with pytest.raises(UsageError, match="not begun"):
            turn.answer()
        with pytest.raises(UsageError, match="empty"):
            await turn.append_all([])
        await turn.append("user", "q")
        with pytest.raises(UsageError, match="role"):
            await turn.complete(content="a")
        with pytest.raises(UsageError, match="sent"):
            await turn.append("assistant", "a", sent="x")
        await turn.complete("assistant", "a")
        with pytest.raises(UsageError, match="complete"):
            await turn.append("user", "more")
    with pytest.raises(UsageError, match="was left"):
        await turn.append("user", "more")

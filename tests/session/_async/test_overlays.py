from __future__ import annotations

import pytest

from sapwood import (
    AsyncSession,
    AsyncSessionManager,
    Message,
    Summary,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.errors import ConflictError, NotFoundError, StoreCorruptError


async def fill(chat: AsyncSession, count: int) -> list[Message]:
    return await chat.append_all([("user", f"message {n}") for n in range(count)])


async def test_an_overlay_stands_in_for_a_range(chat: AsyncSession) -> None:
    messages = await fill(chat, 6)
    overlay = await chat.add_overlay(messages[1], messages[3].id, "one to three")
    entries = (await chat.history()).entries
    assert entries == [messages[0], Summary(overlay=overlay), *messages[4:]]
    assert await chat.overlays() == [overlay]
    assert (await chat.history(overlays=False)).entries == messages


async def test_a_summary_can_be_covered_again_and_undone(chat: AsyncSession) -> None:
    messages = await fill(chat, 6)
    await chat.add_overlay(messages[0], messages[1], "inner", metadata={"by": "test"})
    inner = (await chat.history()).entries[0]
    outer = await chat.add_overlay(inner, messages[3], "outer", id="o2")
    assert [type(entry) for entry in (await chat.history()).entries] == [Summary, Message, Message]
    assert (outer.id, outer.first) == ("o2", messages[0].position)
    await chat.undo_overlay(outer)
    assert (await chat.history()).entries[0] == inner
    assert isinstance(inner, Summary)
    await chat.undo_overlay(inner)
    assert (await chat.history()).entries == messages
    with pytest.raises(NotFoundError):
        await chat.undo_overlay("o2")


async def test_an_overlay_of_what_changed_since_is_refused(chat: AsyncSession) -> None:
    messages = await fill(chat, 4)
    history = await chat.history()
    await chat.append("user", "late")
    await chat.add_overlay(messages[0], messages[1], "still right", history=history)
    await chat.update(messages[2], "edited")
    with pytest.raises(ConflictError):
        await chat.add_overlay(messages[2], messages[3], "out of date", history=history)


async def test_a_pin_is_shown_after_the_summary(chat: AsyncSession) -> None:
    messages = await fill(chat, 5)
    assert await chat.pin(messages[2]) == [messages[2].id]
    assert await chat.pin(messages[2].id) == [messages[2].id]
    await chat.add_overlay(messages[0], messages[3], "all but the last")
    [summary, last] = (await chat.history()).entries
    assert isinstance(summary, Summary)
    assert (summary.pinned, last) == ([messages[2]], messages[4])
    assert (await chat.history()).messages_only == [messages[2], messages[4]]
    assert await chat.unpin(messages[2]) == [] == await chat.pins()


async def append_tools(chat: AsyncSession, gap: int) -> list[Message]:
    """Two calls whose results come after other messages; the call ids are used twice."""
    calls = [ToolCallPart(call_id=id, name="look", input={}) for id in ("1", "2")]
    await chat.append("assistant", calls[0])
    await chat.append("tool", ToolResultPart(call_id="1", output="old"))
    first = await chat.append("assistant", calls)
    await fill(chat, gap)
    second = await chat.append("tool", ToolResultPart(call_id="2", output="b"))
    third = await chat.append("tool", ToolResultPart(call_id="1", output="a"))
    await fill(chat, gap)
    return [first, second, third]


@pytest.mark.parametrize("gap", [1, 3, 100])
@pytest.mark.parametrize("which", [0, 1, 2])
async def test_rule_10_a_pin_takes_its_tool_pair_along(
    chat: AsyncSession, gap: int, which: int
) -> None:
    tools = await append_tools(chat, gap)
    ids = [message.id for message in tools]
    assert await chat.pin(tools[which]) == ids
    assert await chat.unpin(tools[0]) == []


async def test_a_call_in_flight_is_pinned_alone(chat: AsyncSession) -> None:
    await fill(chat, 40)
    call = await chat.append("assistant", ToolCallPart(call_id="1", name="look", input={}))
    assert await chat.pin(call) == [call.id]


async def test_a_message_of_another_branch_is_pinned_with_what_precedes_it(
    chat: AsyncSession,
) -> None:
    question = await chat.append("user", "a")
    call = await chat.append("assistant", ToolCallPart(call_id="1", name="look", input={}))
    result = await chat.append("tool", ToolResultPart(call_id="1", output="x"))
    await chat.append("assistant", "another way", parent=question)
    assert await chat.pin(result) == [call.id, result.id]


async def test_what_is_not_there_is_not_pinned(chat: AsyncSession) -> None:
    message = await chat.append("user", "a")
    await chat.pin(message)
    await chat.delete(message)
    with pytest.raises(NotFoundError):
        await chat.pin(message)
    assert await chat.unpin(message) == []


async def test_pins_that_cannot_be_read_are_not_overwritten(
    chat: AsyncSession, sessions: AsyncSessionManager
) -> None:
    message = await chat.append("user", "a")
    for value in (b"{not json", b'{"a": 1}', b"[1]"):
        await sessions.store.put_document("ada", "pins", value, session="chat")
        with pytest.raises(StoreCorruptError):
            await chat.pin(message)
        document = await sessions.store.find_document("ada", "pins", session="chat")
        assert document is not None
        assert document.value == value

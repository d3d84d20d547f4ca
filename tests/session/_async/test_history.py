from __future__ import annotations

import pytest

from sapwood import (
    ROOT,
    AsyncSession,
    AsyncSessionManager,
    Message,
    NewMessage,
    Summary,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.errors import NotFoundError, UsageError
from sapwood.rules.codec import Body, encode_body


async def fill(chat: AsyncSession, count: int) -> list[Message]:
    return await chat.append_all([("user", f"message {n}") for n in range(count)])


async def test_a_new_session_has_an_empty_history(chat: AsyncSession) -> None:
    history = await chat.history()
    assert (history.entries, history.tip, history.more) == ([], ROOT, False)


async def test_a_limit_gives_the_last_entries_in_path_order(chat: AsyncSession) -> None:
    messages = await fill(chat, 10)
    history = await chat.history(limit=3)
    assert history.entries == messages[-3:]
    assert history.more
    assert (await chat.history(limit=10)).more is False


async def test_bytes_cut_from_the_start_too(chat: AsyncSession) -> None:
    messages = await fill(chat, 10)
    one = (await chat.history(limit=1)).bytes
    history = await chat.history(max_bytes=2 * one)
    assert history.entries == messages[-2:]
    assert history.bytes == 2 * one


async def test_a_leaf_chooses_the_branch(chat: AsyncSession) -> None:
    question = await chat.append("user", "a")
    old = await chat.append("assistant", "old")
    await chat.append("assistant", "new", parent=question)
    assert (await chat.history(old)).messages_only == [question, old]
    assert (await chat.history(ROOT)).entries == []
    with pytest.raises(NotFoundError):
        await chat.history("nowhere")


async def test_rule_10_a_limit_does_not_part_a_call_from_its_result(chat: AsyncSession) -> None:
    await chat.append("user", "look")
    calls = [ToolCallPart(call_id=id, name="look", input={}) for id in ("1", "2")]
    await chat.append("assistant", calls)
    await chat.append("tool", ToolResultPart(call_id="1", output="x"))
    second = await chat.append("tool", [ToolResultPart(call_id="2", output="y"), "a remark"])
    last = await chat.append("assistant", "done")
    assert len((await chat.history(limit=4)).entries) == 4
    for limit, remark in ((3, True), (2, True), (1, False)):
        history = await chat.history(limit=limit)
        assert [entry.text for entry in history.messages_only] == ["a remark"] * remark + ["done"]
        assert history.more
        assert history.bytes == sum(
            len(encode_body(Body(m.parts, m.metadata))) for m in history.messages_only
        )
    assert (await chat.history()).messages_only[-2:] == [second, last]


@pytest.mark.parametrize("page", [1, 3, 7, 200])
async def test_a_stream_equals_the_history(chat: AsyncSession, page: int) -> None:
    messages = await fill(chat, 12)
    await chat.add_overlay(messages[2], messages[5], "two to five")
    await chat.delete(messages[8])
    for overlays in (True, False):
        expected = (await chat.history(overlays=overlays)).entries
        assert isinstance(expected[2], Summary) is overlays
        async for entry in chat.iter_history(page=page, overlays=overlays):
            assert entry == expected.pop(0)
        assert expected == []


async def test_a_stream_keeps_to_its_first_leaf(chat: AsyncSession) -> None:
    messages = await fill(chat, 5)
    seen = []
    async for entry in chat.iter_history(page=2):
        seen.append(entry)
        if len(seen) == 1:
            await chat.append("user", "late")
            await chat.append("user", "elsewhere", parent=messages[0])
    assert seen == messages


async def test_the_token_counter_fills_the_counts(sessions: AsyncSessionManager) -> None:
    counting = type(sessions)(
        sessions.store,
        owner="ada",
        new_id=iter(f"id{n}" for n in range(99)).__next__,
        token_counter=lambda role, parts: 100 + len(parts),
    )
    chat = await counting.create()
    first = await chat.append("user", ["a", "b"])
    plain = NewMessage(role="user", parts=[])
    counted = NewMessage(role="user", parts=[], tokens=5)
    rest = await chat.append_all([("user", "c"), plain, counted])
    assert [message.tokens for message in [first, *rest]] == [102, 101, 100, 5]
    overlay = await chat.add_overlay(first, first, "short")
    assert overlay.tokens == 101
    assert (await chat.record()).context_tokens == 101 + 206
    assert (await chat.update(first, ["a"])).tokens == 101


async def test_a_token_counter_that_fails_is_replaced_by_the_estimate(
    sessions: AsyncSessionManager,
) -> None:
    calls = []

    def broken(role: str, parts: object) -> int:
        calls.append(role)
        raise RuntimeError("no tokenizer")

    counting = type(sessions)(sessions.store, owner="ada", new_id=lambda: "x", token_counter=broken)
    message = await (await counting.session("chat")).append("user", "hello there")
    assert message.tokens > 0
    assert calls == ["user"]


async def test_a_bad_limit_is_refused(chat: AsyncSession) -> None:
    for limit in (0, -1):
        with pytest.raises(UsageError):
            await chat.history(limit=limit)


async def test_find_and_get(chat: AsyncSession) -> None:
    message = await chat.append("user", TextPart(text="a"), id="m1")
    assert await chat.get("m1") == await chat.find("m1") == message
    assert await chat.find("m2") is None
    with pytest.raises(NotFoundError) as caught:
        await chat.get("m2")
    assert (caught.value.kind, caught.value.id) == ("message", "m2")

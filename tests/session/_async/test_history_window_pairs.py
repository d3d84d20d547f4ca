"""A window that cuts a history keeps tool pairs whole, and is never empty while there is more."""

from __future__ import annotations

import pytest

from sapwood import ROOT, AsyncSession, ToolCallPart, ToolResultPart
from sapwood.errors import UsageError


@pytest.fixture
async def chat(chat: AsyncSession) -> AsyncSession:
    """Two rounds of a question, four parallel calls and their results."""
    for turn in ("a", "b"):
        names = [f"{turn}{n}" for n in range(1, 5)]
        calls = [ToolCallPart(call_id=name, name="look", input=None) for name in names]
        await chat.append("user", "look", id=turn)
        await chat.append("assistant", calls, id=f"{turn}0")
        for name in names:
            await chat.append("tool", ToolResultPart(call_id=name, output="seen"), id=name)
    return chat


PAIR = ["b0", "b1", "b2", "b3", "b4"]
ALL = ["a", "a0", "a1", "a2", "a3", "a4", "b", *PAIR]


async def ids(chat: AsyncSession, **window: object) -> list[str]:
    return [message.id for message in (await chat.history(**window)).messages_only]  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
async def test_a_pair_larger_than_the_limit_is_given_whole(chat: AsyncSession, limit: int) -> None:
    history = await chat.history(limit=limit)
    assert ([message.id for message in history.messages_only], history.more) == (PAIR, True)
    assert history.bytes == (await chat.history(after="b")).bytes


async def test_no_more_is_read_than_the_least_that_is_whole(chat: AsyncSession) -> None:
    assert await ids(chat, max_bytes=1) == PAIR
    assert await ids(chat, max_bytes=1, min_messages=3) == PAIR
    assert await ids(chat, max_bytes=1, min_messages=6) == ["b", *PAIR]
    assert await ids(chat, max_bytes=1, min_messages=7) == ALL[1:]
    assert await ids(chat, limit=7, min_messages=7) == ALL[1:]
    assert await ids(chat, limit=7) == ["b", *PAIR]
    assert await ids(chat, limit=12, max_bytes=1, min_messages=12) == ALL


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
async def test_pages_in_either_direction_give_every_message_once(
    chat: AsyncSession, limit: int
) -> None:
    up = await chat.history(limit=limit)
    seen = [message.id for message in up.messages_only]
    while up.more:
        up = await chat.history(before=up.messages_only[0], limit=limit)
        seen = [message.id for message in up.messages_only] + seen
    assert seen == ALL
    down = await chat.history(after=ROOT, limit=limit)
    seen = [message.id for message in down.messages_only]
    while down.more:
        down = await chat.history(after=down.messages_only[-1], limit=limit)
        seen += [message.id for message in down.messages_only]
    assert seen == ALL


async def test_a_page_downwards_does_not_end_within_a_pair(chat: AsyncSession) -> None:
    assert await ids(chat, after="a", limit=3) == ALL[1:6]
    assert await ids(chat, after="a4", limit=3) == ["b"]
    assert await ids(chat, after="b0", limit=2) == ["b1", "b2"]


async def test_without_whole_pairs_it_is_the_exact_number(chat: AsyncSession) -> None:
    assert await ids(chat, limit=3, whole_pairs=False) == ["b2", "b3", "b4"]
    assert await ids(chat, max_bytes=1, min_messages=2, whole_pairs=False) == ["b3", "b4"]
    assert await ids(chat, after="a", limit=2, whole_pairs=False) == ["a0", "a1"]
    assert (await chat.history(limit=3, whole_pairs=False)).more


async def test_an_offset_leaves_out_entries_at_the_end_that_is_read(chat: AsyncSession) -> None:
    assert await ids(chat, offset=5, limit=2, whole_pairs=False) == ["a4", "b"]
    assert await ids(chat, offset=10, whole_pairs=False) == ["a", "a0"]
    assert await ids(chat, offset=2, after="a4", limit=2, whole_pairs=False) == ["b1", "b2"]
    for offset in (12, 99):
        beyond = await chat.history(offset=offset, limit=3, whole_pairs=False)
        assert (beyond.entries, beyond.more, beyond.bytes) == ([], False, 0)
    exact = [await ids(chat, offset=n, limit=1, whole_pairs=False) for n in range(12)]
    assert [id for [id] in exact] == ALL[::-1]


async def test_an_offset_counts_a_summary_as_one_entry(chat: AsyncSession) -> None:
    await chat.add_overlay("a0", "b", "they looked")
    [summary] = (await chat.history(offset=5, limit=1, whole_pairs=False)).entries
    assert summary.text == "they looked"
    assert await ids(chat, offset=6, limit=1, whole_pairs=False) == ["a"]


async def test_an_offset_that_could_part_a_pair_is_refused(chat: AsyncSession) -> None:
    for window in ({}, {"limit": 2}, {"after": "a"}):
        with pytest.raises(UsageError, match="whole_pairs=False") as caught:
            await ids(chat, offset=10, **window)
        assert caught.value.path == "offset"
    assert await ids(chat, offset=0) == ALL


@pytest.mark.parametrize("wrong", ["x", 1.5, -1, None, True])
@pytest.mark.parametrize("name", ["min_messages", "offset"])
async def test_a_number_of_entries_that_is_none_is_refused(
    chat: AsyncSession, name: str, wrong: object
) -> None:
    with pytest.raises(UsageError, match=name) as caught:
        await chat.history(limit=2, **{name: wrong})  # type: ignore[arg-type]
    assert caught.value.path == name


async def test_whole_pairs_is_yes_or_no(chat: AsyncSession) -> None:
    with pytest.raises(UsageError, match="whole_pairs"):
        await chat.history(limit=2, whole_pairs="no")  # type: ignore[arg-type]

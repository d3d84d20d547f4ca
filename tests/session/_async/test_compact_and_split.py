"""Sessions that go on in a new one after a compaction."""

from __future__ import annotations

import pytest

from sapwood import (
    AsyncSessionManager,
)
from sapwood.errors import CompactionError

from .compactable import LONG, Model, fill, shown, tight


async def test_a_session_is_split_with_an_edge_and_an_end_reason(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_context("memory").compact_with(tight(Model()))
    chat = await sessions.create("old", title="Harbour", model="large", source="cli")
    await chat.replace_context_block("memory", "likes tea")
    await fill(chat, 8)
    new = await chat.compact_and_split("new")
    record, old = await new.record(), await chat.record()
    assert record.parent is not None
    assert (record.parent.kind.value, record.parent.session) == ("continue", "old")
    assert record.title == "Harbour"
    assert (record.model, record.source, record.end_reason) == ("large", "cli", None)
    assert (old.state, old.end_reason) == ("ended", "compaction")
    assert (await new.get_context_block("memory")).content == "likes tea"
    assert len((await new.history()).entries) < 4
    assert len((await chat.history()).entries) == 8
    given = await new.compact_and_split("newer", summary="All of it.")
    assert await shown(given) == ["<All of it.>"]


async def test_a_split_that_fails_leaves_nothing_behind(sessions: AsyncSessionManager) -> None:
    def fail(prompt: str) -> str:
        raise OSError("no model")

    chat = await sessions.session("old")
    await fill(chat, 8)
    with pytest.raises(CompactionError):
        await chat.compact_with(tight(fail)).compact_and_split("new")
    assert await sessions.find("new") is None
    assert (await chat.record()).state == "active"


@pytest.mark.parametrize("answer", ["", LONG * 20])
async def test_a_split_without_a_summary_leaves_everything_as_it_was(
    sessions: AsyncSessionManager, answer: str
) -> None:
    chat = await sessions.session("old")
    await fill(chat, 8)
    with pytest.raises(CompactionError, match="no summary to go on with"):
        await chat.compact_with(tight(Model(answer))).compact_and_split("new")
    assert await sessions.find("new") is None
    assert (await chat.record()).state == "active"


async def test_a_split_keeps_what_others_noted_meanwhile(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("old")
    await fill(chat, 8)

    async def note(prompt: str) -> str:
        await (await sessions.get("old")).update_record(attributes={"ticket": 7})
        return "short"

    await chat.compact_with(tight(note)).compact_and_split("new")
    record = await chat.record()
    assert (record.attributes, record.end_reason) == ({"ticket": 7}, "compaction")

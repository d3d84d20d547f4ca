"""What the model is sent beside what the user says: kept, sent again, and never the user's word."""

from __future__ import annotations

import pytest

import sapwood
from sapwood.errors import UsageError

RECALLED = "Ada lives in Porto."


async def test_what_was_sent_is_sent_again_and_is_not_what_the_user_said(
    sessions: sapwood.AsyncSessionManager, chat: sapwood.AsyncSession
) -> None:
    async with chat.turn() as turn:
        asked = await turn.append("user", "Where is my order?", sent=RECALLED)
        first = await turn.prepare()
        await turn.complete("assistant", "On its way.")
    sent, said = first.messages[0].parts
    assert RECALLED in sent.text  # type: ignore[union-attr]
    assert "not said by the user" in sent.text  # type: ignore[union-attr]
    assert said.text == "Where is my order?"  # type: ignore[union-attr]
    async with chat.turn() as turn:
        await turn.append("user", "Thanks.")
        given = await turn.prepare()
    assert given.messages[0] == first.messages[0]
    assert given.messages[-1].text == "Thanks."
    again = await (await sessions.session("chat")).prepare()
    assert again.messages == given.messages
    stored = await chat.get(asked.id)
    assert stored.text == "Where is my order?"
    assert stored.extra["sent"] == RECALLED
    assert (await sessions.search("Porto")).hits == []


async def test_it_counts(chat: sapwood.AsyncSession) -> None:
    async with chat.turn() as turn:
        await turn.append("user", "q")
        without = (await chat.prepare()).tokens
    await chat.clear()
    async with chat.turn() as turn:
        await turn.append("user", "q", sent="many words " * 1000)
        assert (await chat.prepare()).tokens > without + 1000


async def test_a_changed_block_is_told_once_and_stays_where_it_was_told(
    sessions: sapwood.AsyncSessionManager,
) -> None:
    sessions.with_context("memory", default="Likes tea.")
    chat = await sessions.session("blocks")
    async with chat.turn() as turn:
        await turn.append("user", "one")
        before = await turn.prepare()
        await turn.complete("assistant", "1")
    assert before.updates == ""
    await chat.append_context_block("memory", "Likes rain.")
    async with chat.turn() as turn:
        asked = await turn.append("user", "two", sent=RECALLED)
        told = await turn.prepare()
        assert told == await turn.prepare()
        assert told.updates == ""
        assert told.messages[-1].id == asked.id
        text = told.messages[-1].text
        assert text.index(RECALLED) < text.index("Likes rain.") < text.index("two")
        await turn.complete("assistant", "2")
    assert (await chat.get(asked.id)).version == asked.version
    async with chat.turn() as turn:
        await turn.append("user", "three")
        after = await turn.prepare()
    assert after.prompt == before.prompt
    assert after.messages[:3] == told.messages
    assert [it.text for it in after.messages].count(text) == 1
    assert after.messages[-1].text == "three"


@pytest.mark.parametrize("sent", [1, ["x"]])
async def test_what_is_sent_is_text(chat: sapwood.AsyncSession, sent: object) -> None:
    with pytest.raises(UsageError, match="sent"):
        await (await chat.turn().__aenter__()).append("user", "q", sent=sent)  # type: ignore[arg-type]

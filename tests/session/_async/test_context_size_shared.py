"""How full the context is does not depend on which object is asked: all that counts is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import sapwood
from sapwood import AsyncSession, AsyncSessionManager
from sapwood.compaction import create_compact_function
from sapwood.model import Usage

LONG = "message " * 50


@pytest.fixture
async def pair(url: str) -> AsyncIterator[tuple[AsyncSession, AsyncSession]]:
    """Two objects of one session with blocks, opened apart where a store allows it."""
    async with sapwood.open_async(url, owner="ada") as one:
        if url == "memory://":
            yield await _chat(one), await _chat(one)
            return
        async with sapwood.open_async(url, owner="ada") as other:
            yield await _chat(one), await _chat(other)


async def _chat(sessions: AsyncSessionManager) -> AsyncSession:
    return (await sessions.session("chat")).with_context("memory", max_tokens=5_000)


async def same(pair: tuple[AsyncSession, AsyncSession]) -> int:
    """Ask both, the one that did not do it first, and so that both have something to remember."""
    one, other = pair
    found = [await other.context_tokens(), await one.context_tokens()]
    assert found[0] == found[1]
    return found[0]


async def test_after_a_report_of_another(pair: tuple[AsyncSession, AsyncSession]) -> None:
    one, _ = pair
    await one.append("user", "question")
    answer = await one.append("assistant", "answer")
    estimate = await same(pair)
    for number, tokens in enumerate((85_000, 86_000)):
        await one.add_usage(Usage(id=f"c{number}", message=answer.id, input_tokens=tokens))
        assert await same(pair) == tokens > estimate
    await one.append("user", "and then?")
    assert await same(pair) > 86_000


async def test_after_an_overlay_of_another(pair: tuple[AsyncSession, AsyncSession]) -> None:
    one, _ = pair
    messages = await one.append_all([("user", LONG)] * 5)
    await one.add_usage(Usage(id="c1", message=messages[-1].id, input_tokens=85_886))
    assert await same(pair) == 85_886
    overlay = await one.add_overlay(messages[0], messages[3], "four messages")
    assert await same(pair) < 1_000
    await one.add_usage(Usage(id="c2", message=messages[-1].id, input_tokens=70_000))
    assert await same(pair) == 70_000
    await one.undo_overlay(overlay)
    assert await same(pair) < 2_000


async def test_after_a_compaction_of_another(pair: tuple[AsyncSession, AsyncSession]) -> None:
    one, _ = pair
    messages = await one.append_all([("user", LONG * 5)] * 20)
    await one.add_usage(Usage(id="c1", message=messages[-1].id, input_tokens=85_886))
    await same(pair)
    one.compact_after(1_000)
    assert (await one.compact()).status == "done"
    assert await same(pair) < 10_000


async def test_after_another_changed_the_prompt(pair: tuple[AsyncSession, AsyncSession]) -> None:
    one, other = pair
    await one.append("user", "question")
    empty = await same(pair)
    # It is not frozen yet: what the blocks hold is what is going to be shown.
    await one.replace_context_block("memory", "likes tea " * 100)
    unfrozen = await same(pair)
    assert unfrozen > empty + 200
    await one.system_prompt()
    assert await same(pair) == unfrozen
    await one.replace_context_block("memory", "likes tea " * 300)
    assert await same(pair) == unfrozen
    await other.refresh_system_prompt()
    assert await same(pair) > unfrozen + 400


async def test_after_another_cleared_it(pair: tuple[AsyncSession, AsyncSession]) -> None:
    one, other = pair
    answer = await one.append("assistant", "answer", id="m1")
    await one.add_usage(Usage(id="c1", message=answer.id, input_tokens=85_886))
    await same(pair)
    await one.clear()
    await other.append("assistant", "answer", id="m1")
    assert await same(pair) < 1_000


async def test_an_append_compacts_by_what_another_reported(
    pair: tuple[AsyncSession, AsyncSession],
) -> None:
    one, other = pair
    digest = create_compact_function(strategy="digest", tail_token_budget=500)
    one.compact_with(digest).compact_after(50_000)
    *_, last = await one.append_all([("user", LONG * 5)] * 20)
    await other.add_usage(Usage(id="c1", message=last.id, input_tokens=85_886))
    await one.append("user", "and then?")
    assert len(await one.overlays()) == 1


async def test_an_append_compacts_by_the_prompt_of_another(
    pair: tuple[AsyncSession, AsyncSession],
) -> None:
    one, other = pair
    one.compact_after(4_000)
    await one.system_prompt()
    await one.append_all([("user", LONG * 2)] * 20)
    assert await one.overlays() == []
    await other.replace_context_block("memory", "likes tea " * 1_000)
    await other.refresh_system_prompt()
    await one.append("user", "and then?")
    assert len(await one.overlays()) == 1


async def test_after_it_was_deleted_and_made_again(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    answer = await chat.append("assistant", "answer", id="m1")
    await chat.add_usage(Usage(id="c1", message=answer.id, input_tokens=85_886))
    assert await chat.context_tokens() == 85_886
    await sessions.delete("chat")
    again = await sessions.session("chat")
    await again.append("assistant", "answer", id="m1")
    # It comes to the version at which the old one was measured.
    await again.update_record(title="again")
    assert await chat.context_tokens() == await again.context_tokens() < 1_000

from __future__ import annotations

import pytest

from sapwood import AsyncSession, AsyncSessionManager
from sapwood.errors import ConflictError
from sapwood.model import Usage


async def test_the_prompt_and_the_tools_are_counted(sessions: AsyncSessionManager) -> None:
    plain = await sessions.session("plain")
    await plain.append("user", "hello")
    record = await plain.record()
    assert await plain.context_tokens() == record.context_tokens
    sessions.with_context("memory", description="Facts", max_tokens=900, default="likes tea " * 100)
    sessions.with_context("empty", readonly=True).with_searchable_history()
    full = await sessions.session("full")
    await full.append("user", "hello")
    before = await full.context_tokens()
    assert before > record.context_tokens + 200
    given = await full.prepare()
    assert given.tokens == await full.context_tokens() == before


async def test_what_was_reported_counts_and_the_rest_is_estimated(chat: AsyncSession) -> None:
    await chat.append("user", "question")
    answer = await chat.append("assistant", "answer")
    await chat.add_usage(Usage(id="c1", message=answer.id, input_tokens=5_000, output_tokens=40))
    assert await chat.context_tokens() == 5_040
    before = (await chat.record()).context_tokens
    await chat.append("user", "and then? " * 20)
    more = (await chat.record()).context_tokens - before
    assert await chat.context_tokens() == 5_040 + more


async def test_a_report_survives_a_restart(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    answer = await chat.append("assistant", "answer")
    await chat.add_usage(Usage(id="c1", message=answer.id, input_tokens=5_000))
    assert await (await sessions.get("chat")).context_tokens() == 5_000


async def test_a_report_of_another_branch_does_not_count(chat: AsyncSession) -> None:
    question = await chat.append("user", "question")
    answer = await chat.append("assistant", "answer")
    await chat.add_usage(Usage(id="c1", message=answer.id, input_tokens=5_000))
    await chat.append("assistant", "another", parent=question)
    assert await chat.context_tokens() == (await chat.record()).context_tokens
    await chat.checkout(question)
    assert await chat.context_tokens() == (await chat.record()).context_tokens
    # Further down on a branch that goes on from it, it counts.
    await chat.append("user", "one", parent=answer)
    await chat.append("user", "two", parent=answer)
    assert await chat.context_tokens() > 5_000


async def test_an_overlay_ends_what_was_reported(chat: AsyncSession) -> None:
    messages = await chat.append_all([("user", f"message {n} " * 50) for n in range(5)])
    await chat.add_usage(Usage(id="c1", message=messages[-1].id, input_tokens=50_000))
    assert await chat.context_tokens() == 50_000
    overlay = await chat.add_overlay(messages[0], messages[3], "four messages")
    assert await chat.context_tokens() == (await chat.record()).context_tokens < 1_000
    await chat.undo_overlay(overlay)
    assert await chat.context_tokens() == (await chat.record()).context_tokens


async def test_each_call_counts_once_by_its_id(sessions: AsyncSessionManager) -> None:
    chat = await sessions.session("chat")
    answer = await chat.append("assistant", "answer")
    call = Usage(
        id="c1",
        model="large",
        message=answer.id,
        input_tokens=100,
        output_tokens=10,
        cached_tokens=80,
        reasoning_tokens=5,
        cost_micros=1_234,
    )
    assert await chat.add_usage(call) is True
    assert await chat.add_usage(call) is False
    with pytest.raises(ConflictError):
        await chat.add_usage(Usage(id="c1", model="large", input_tokens=7))
    await chat.add_usage(Usage(id="c2", model="small", input_tokens=3))
    by_model = {total.model: total for total in await chat.usage()}
    assert (by_model["large"].calls, by_model["large"].cached_tokens) == (1, 80)
    assert (by_model["large"].cost_micros, by_model["small"].input_tokens) == (1_234, 3)
    by_message = [(total.message, total.model) for total in await chat.usage("message")]
    assert by_message == [(answer.id, "large"), (None, "small")]


async def test_a_manager_sums_over_all_sessions(sessions: AsyncSessionManager) -> None:
    for number in range(3):
        chat = await sessions.session(f"s{number}")
        await chat.add_usage(Usage(id="same", model="large", input_tokens=10))
        await chat.add_usage(Usage(id=f"c{number}", model=f"m{number}", output_tokens=1))
    totals = {total.model: total for total in await sessions.usage()}
    assert (totals["large"].calls, totals["large"].input_tokens) == (3, 30)
    assert sorted(totals) == ["large", "m0", "m1", "m2"]
    [of_one] = [total for total in await sessions.usage("s1") if total.model == "m1"]
    assert of_one.output_tokens == 1
    assert (await sessions.statistics()).sessions == 3


async def test_the_context_is_counted_anew_when_the_prompt_changed(
    sessions: AsyncSessionManager,
) -> None:
    sessions.with_context("memory")
    chat = await sessions.session("chat")
    answer = await chat.append("assistant", "answer")
    await chat.system_prompt()
    before = await chat.context_tokens()
    await chat.add_usage(Usage(id="c1", message=answer.id, input_tokens=90_000))
    assert await chat.context_tokens() == 90_000
    await chat.replace_context_block("memory", "likes tea " * 100)
    await chat.refresh_system_prompt()
    # What was reported was about another prompt.
    assert before + 200 < await chat.context_tokens() < 10_000


async def test_a_manager_sums_over_all_pages(sessions: AsyncSessionManager) -> None:
    for number in range(501):
        await sessions.create(f"s{number}")
    for id in ("s0", "s500"):
        await (await sessions.get(id)).add_usage(Usage(id="c", model="large", input_tokens=1))
    [total] = await sessions.usage()
    assert total.calls == 2

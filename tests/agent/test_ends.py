"""Runs that are cancelled on an event loop, or interrupted by a user; and small things."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import Any

import pytest
from endpoint import completions

import sapwood
from sapwood import TextPart, ToolCallPart
from sapwood.agent import Agent, AsyncAgent, OfflineModel, tool
from sapwood.errors import UsageError
from sapwood.model import ModelInput
from sapwood.session._async import turn, turn_lease


@pytest.mark.parametrize("where", ["model", "stream", "tools"])
async def test_a_cancelled_run_leaves_its_turn_interrupted(where: str) -> None:
    begun, ended = asyncio.Event(), []

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("wait")

    async def told() -> Any:
        yield "It "
        yield "is "
        await wait()

    async def model(given: Any) -> Any:
        if where == "model":
            await wait()
        if where == "stream":
            return told()
        return [ToolCallPart(call_id=it, name="wait", input={}) for it in ("c1", "c2")]

    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        run = asyncio.create_task(AsyncAgent(model, tools=[wait]).run("?", session=chat, id="q"))
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert ended == ["wait"] * (2 if where == "tools" else 1)
        record = await chat.find_turn("q")
        assert (record.state, record.reason) == ("interrupted", "CancelledError")
        last = (await chat.history(whole_pairs=False)).messages_only[-1]
        assert last.text == {"model": "?", "stream": "It is ", "tools": ""}[where]


@pytest.mark.parametrize(
    "pieces",
    [["partial ", "more "], [completions.chunk({"refusal": it}) for it in ("partial ", "more ")]],
    ids=["text", "refusal"],
)
async def test_what_came_is_stored_while_the_model_is_silent(
    pieces: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "INTERVAL_S", 0.01)
    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        seen: list[str] = []

        async def told() -> Any:
            for piece in pieces:
                yield piece
            for _ in range(2000):
                seen[:] = [str(it.parts) for it in (await chat.history()).messages_only]
                if "partial more " in seen[-1]:
                    break
                await asyncio.sleep(0.005)
            yield completions.chunk({}, finish="stop") if "refusal" in str(pieces) else "end"

        await AsyncAgent(lambda given: told()).run("q", session=chat)
        assert "partial more " in seen[-1]


async def test_plain_functions_run_on_the_loop_that_they_are_called_on() -> None:
    """So does an iterator that a model gives."""
    database = sqlite3.connect(":memory:")

    def look() -> int:
        asyncio.get_running_loop()
        return database.execute("select 42").fetchone()[0]

    def model(given: ModelInput) -> Any:
        look()
        if given.messages[-1].role == "tool":
            yield TextPart(text=str(look()))
        else:
            yield ToolCallPart(call_id="c1", name="look", input={})

    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        answer = await AsyncAgent(model, tools=[look]).run("?", session=chat)
        assert answer.text == "42"
        assert (await chat.history()).messages_only[2].parts[0].output == 42
        await chat.call_model(lambda given: look())
    database.close()


async def test_plain_functions_run_in_threads_where_that_is_asked_for() -> None:
    here = threading.get_ident()
    threads = []

    def look() -> None:
        threads.append(threading.get_ident())

    def model(given: ModelInput) -> Any:
        look()
        if given.messages[-1].role == "tool":
            yield TextPart(text="Yes.")
        else:
            yield ToolCallPart(call_id="c1", name="look", input={})

    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        agent = AsyncAgent(model, tools=[tool(in_thread=True)(look)], in_thread=True)
        await agent.run("?", session=chat)
        await chat.call_model(lambda given: look(), in_thread=True)
    assert len(threads) == 4
    assert here not in threads


@pytest.mark.parametrize("where", ["model", "stream", "tool"])
async def test_a_stop_from_outside_cancels_what_is_awaited(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_lease, "LEASE_S", 0.3)
    begun, ended = asyncio.Event(), []

    async def hang() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    async def told() -> Any:
        yield "It is "
        await hang()

    async def model(given: Any) -> Any:
        if where == "model":
            await hang()
        return told() if where == "stream" else [ToolCallPart(call_id="c1", name="hang", input={})]

    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        run = asyncio.create_task(AsyncAgent(model, tools=[hang]).run("?", session=chat))
        await begun.wait()
        assert await chat.stop_turn()
        done, _ = await asyncio.wait([run], timeout=30)
        assert done
        answer = await run
        assert (answer.reason, ended) == ("stopped", ["hang"])
        assert (await chat.find_turn(answer.turn)).reason == "stopped"
        last = (await chat.history(whole_pairs=False)).messages_only[-1]
        assert last.text == {"model": "?", "stream": "It is ", "tool": ""}[where]


async def test_a_caller_that_is_cancelled_is_not_told_of_a_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = asyncio.Event()

    async def model(given: Any) -> Any:
        begun.set()
        await asyncio.Event().wait()

    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        run = asyncio.create_task(AsyncAgent(model).run("?", session=chat))
        await begun.wait()
        await chat.stop_turn()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run


def test_ctrl_c_leaves_the_turn_interrupted() -> None:
    def told() -> Any:
        yield "It "
        raise KeyboardInterrupt

    with sapwood.open("memory://") as sessions:
        chat = sessions.session("chat")
        with pytest.raises(KeyboardInterrupt):
            Agent(lambda given: told()).run("?", session=chat, id="q")
        assert chat.find_turn("q").reason == "KeyboardInterrupt"


def test_the_offline_stand_in_is_a_model() -> None:
    with sapwood.open("memory://").with_searchable_history() as sessions:
        sessions.session("old").append("user", "The castle is in Porto.")
        answer = Agent(OfflineModel(), sessions=sessions).run("Find castle.")
        assert answer.steps == 2
        assert "Porto" in answer.text


async def test_a_session_of_the_other_twin_is_refused() -> None:
    sessions = await asyncio.to_thread(sapwood.open, "memory://")
    chat = await asyncio.to_thread(sessions.session, "chat")
    with pytest.raises(UsageError, match=r"take Agent, or what sapwood\.open_async gives"):
        AsyncAgent(str, sessions=sessions)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"session is a Session, .* take Agent"):
        await AsyncAgent(str).run("?", session=chat)  # type: ignore[arg-type]
    await asyncio.to_thread(sessions.close)
    async with sapwood.open_async("memory://") as others:
        with pytest.raises(UsageError, match=r"take AsyncAgent, or what sapwood\.open gives"):
            Agent(str, sessions=others)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="session is an int: give an AsyncSession, or its id"):
            await AsyncAgent(str, sessions=others).run("?", session=5)  # type: ignore[arg-type]

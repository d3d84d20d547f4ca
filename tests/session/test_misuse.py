"""Who takes one twin for the other, or forgets to await, is told what to write."""

from __future__ import annotations

import asyncio
import inspect
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import event_loop
from sapwood.agent import Agent, AsyncAgent
from sapwood.errors import SapwoodWarning, UsageError
from sapwood.streaming import AsyncEventStream, EventStream


async def test_a_call_that_blocks_a_loop_warns_once_with_the_async_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_loop._Told, "yet", False)
    with sapwood.open("memory://") as sessions:
        with pytest.warns(SapwoodWarning, match=r"await AsyncSessionManager\.session") as told:
            chat = sessions.session("chat")
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            chat.append("user", "hello")


def test_a_call_without_a_loop_warns_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop._Told, "yet", False)
    with sapwood.open("memory://") as sessions:
        sessions.session("chat").append("user", "hello")
    assert not event_loop._Told.yet


async def test_with_in_place_of_async_with_is_told() -> None:
    manager: Any = sapwood.open_async("memory://")
    with pytest.raises(TypeError, match=r"use `async with sapwood\.open_async"), manager:
        pass
    await manager.aclose()
    twin: Any = sapwood.open("memory://")
    with pytest.raises(TypeError, match=r"use `with sapwood\.open\("):
        async with twin:
            pass
    twin.close()


async def test_each_manager_says_which_with_it_is_for(tmp_path: Path) -> None:
    store: Any = sapwood.open_store_async("memory://")
    with pytest.raises(TypeError, match=r"use `async with sapwood\.open_store_async"), store:
        pass
    await store.aclose()
    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        streams = [
            AsyncEventStream(told()),
            AsyncAgent(str).run_stream("?", session=chat),
        ]
        wrong: Any
        for wrong in (chat.turn(), *streams):
            with pytest.raises(TypeError, match=r"is for an event loop: use `async with`"), wrong:
                pass
    with sapwood.open("memory://") as others:
        twin = others.session("chat")
        for wrong in (twin.turn(), EventStream(["a"]), Agent(str).run_stream("?", session=twin)):
            with pytest.raises(TypeError, match=r"use `with`, or `async with` and Async"):
                async with wrong:
                    pass


async def told() -> Any:
    yield "a"


async def test_a_forgotten_await_is_told_by_every_method() -> None:
    async with sapwood.open_async("memory://") as sessions:
        chat = await sessions.session("chat")
        await chat.append("user", "hello")
        agent = AsyncAgent(str)
        forgotten: list[tuple[Any, str]] = [
            (chat.append("user", "a"), "id"),
            (chat.history(), "messages_only"),
            (chat.prepare(), "messages"),
            (chat.record(), "tip"),
            (chat.compact(), "status"),
            (chat.find_turn("t"), "state"),
            (agent.run("?", session=chat), "text"),
        ]
        for call, name in forgotten:
            with pytest.raises(AttributeError, match=rf"was not awaited: .*\)\.{name}`"):
                getattr(call, name)
        async with chat.turn() as turn:
            with pytest.raises(AttributeError, match="append was not awaited"):
                _ = turn.append("user", "a").id  # type: ignore[attr-defined]


async def test_a_forgotten_await_is_told_where_its_answer_is_gone_through_or_entered() -> None:
    async with sapwood.open_async("memory://") as sessions:
        wrong: Any = sessions.list_sessions()
        with pytest.raises(
            TypeError, match=r"write `for it in await \.\.\.\.list_sessions\(\.\.\.\)`"
        ):
            list(wrong)
        wrong = sessions.session("chat")
        with pytest.raises(TypeError, match=r"write `it = await \.\.\.\.session\("), wrong:
            pass
        wrong = sessions.session("chat")
        with pytest.raises(TypeError, match=r"session was not awaited"):
            async with wrong:
                pass
        assert inspect.iscoroutinefunction(sessions.session) or sys.version_info < (3, 12)


async def test_a_forgotten_await_is_told() -> None:
    async with sapwood.open_async("memory://") as sessions:
        forgotten: Any = sessions.session("chat")
        with pytest.raises(AttributeError, match=r"session was not awaited: .*\.append"):
            forgotten.append("user", "hello")
        chat = await asyncio.create_task(sessions.session("chat"))
        assert chat.id == "chat"
        assert await asyncio.wait_for(sessions.find("none"), 5) is None


@pytest.mark.parametrize("as_text", [True, False])
def test_a_path_is_a_sqlite_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_text: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (Path("agent.db"), tmp_path / "folder.d" / "agent"):
        place.parent.mkdir(exist_ok=True)
        with sapwood.open(str(place) if as_text else place) as sessions:
            sessions.session("chat").append("user", "hello")
        with sapwood.open(f"sqlite:///{place}") as sessions:
            assert len(sessions.get("chat").history().entries) == 1


@pytest.mark.parametrize("url", ["agent", "localhost:6379", "ada:secret@host/db", "sqlite:a.db"])
def test_what_is_neither_a_path_nor_a_url_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(UsageError, match=r"no scheme: use a file's path, as \./agent\.db") as told:
        sapwood.open(url)
    assert "secret" not in str(told.value)

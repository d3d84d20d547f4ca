"""Contexts shared by real threads and processes, and opened again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import sapwood
from sapwood.context import AsyncContext, BlockConfig, Context, StoreEntries
from sapwood.store import Store

HEAD = """
import sys
import sapwood
from sapwood.context import BlockConfig, CallableProvider, Context

name = sys.argv[1]
with sapwood.open("sqlite:///race.db", owner="ada") as sessions:
    blocks = [BlockConfig("memory"), BlockConfig("data", provider=CallableProvider(lambda: name))]
    context = Context(sessions.store, "ada", "chat", blocks)
    print("ready", flush=True)
    sys.stdin.readline()
"""
FREEZE = HEAD + "    print(context.freeze())\n"
APPEND = HEAD + "    for n in range(25): context.append('memory', f'{name}.{n}')\n"
LOAD = """
import sys
import sapwood
from sapwood.context import BlockConfig, Context, StoreEntries

with sapwood.open("sqlite:///race.db", owner="ada") as sessions:
    notes = StoreEntries(sessions.store, "ada", "notes")
    context = Context(sessions.store, "ada", "chat", [BlockConfig("notes", provider=notes)])
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(10):
        context.load("notes", context.put_entry("notes", f"{sys.argv[1]} {n}", "x"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with sapwood.open(f"sqlite:///{tmp_path}/race.db", owner="ada") as sessions:
        sessions.session("chat")
    return tmp_path


def race(script: str, processes: int, folder: Path) -> list[str]:
    """Start processes, let them all go at once, and give what each printed then."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, f"p{n}"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * processes
    return outputs


def at_once(work: Callable[[int], object], threads: int) -> None:
    barrier = threading.Barrier(threads)
    failed: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001 - told below
            failed.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert failed == []


def test_processes_that_freeze_at_once_agree_on_one_text(folder: Path) -> None:
    outputs = race(FREEZE, 4, folder)
    assert len(set(outputs)) == 1
    assert "DATA" in outputs[0]
    with sapwood.open(f"sqlite:///{folder}/race.db", owner="ada") as sessions:
        prompt = Context(sessions.store, "ada", "chat").peek()
    assert outputs[0] == f"{prompt}\n"


def test_no_append_of_several_processes_is_lost(folder: Path) -> None:
    race(APPEND, 4, folder)
    with sapwood.open(f"sqlite:///{folder}/race.db", owner="ada") as sessions:
        block = Context(sessions.store, "ada", "chat", [BlockConfig("memory")]).block("memory")
    lines = block.content.split("\n")
    assert sorted(lines) == sorted(f"p{p}.{n}" for p in range(4) for n in range(25))
    for process in range(4):
        own = [line for line in lines if line.startswith(f"p{process}.")]
        assert own == [f"p{process}.{n}" for n in range(25)]


def test_no_load_of_several_processes_is_lost(folder: Path) -> None:
    race(LOAD, 3, folder)
    with sapwood.open(f"sqlite:///{folder}/race.db", owner="ada") as sessions:
        notes = StoreEntries(sessions.store, "ada", "notes")
        context = Context(sessions.store, "ada", "chat", [BlockConfig("notes", provider=notes)])
        assert len(context.loaded()) == len(notes.entries()) == 30


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/threads.db"


def context_of(store: Store, name: str) -> Context:
    class Named:
        def get(self) -> str:
            return name

    blocks = [BlockConfig("memory"), BlockConfig("data", provider=Named())]
    return Context(store, "ada", "chat", blocks)


def test_threads_that_freeze_and_append_at_once(url: str) -> None:
    with sapwood.open(url, owner="ada") as sessions:
        sessions.session("chat")
        texts: list[str] = []

        def work(number: int) -> None:
            context = context_of(sessions.store, f"t{number}")
            texts.append(context.freeze())
            for n in range(10):
                context.append("memory", f"{number}.{n}")
            texts.append(context.freeze())

        at_once(work, 6)
        assert len(set(texts)) == 1
        lines = context_of(sessions.store, "t").block("memory").content.split("\n")
        assert sorted(lines) == sorted(f"{t}.{n}" for t in range(6) for n in range(10))


def test_blocks_added_by_threads_are_all_there() -> None:
    with sapwood.open("memory://", owner="ada") as sessions:
        sessions.session("chat")
        context = Context(sessions.store, "ada", "chat")
        at_once(lambda number: [context.add(BlockConfig(f"{number}.{n}")) for n in range(20)], 6)
        assert len(context.configs) == 120


async def test_tasks_that_freeze_and_append_at_once(url: str) -> None:
    async with sapwood.open_async(url, owner="ada") as sessions:
        await sessions.session("chat")
        blocks = [BlockConfig("memory")]
        contexts = [AsyncContext(sessions.store, "ada", "chat", blocks) for _ in range(8)]
        texts = await asyncio.gather(*(context.freeze() for context in contexts))
        assert len(set(texts)) == 1
        await asyncio.gather(
            *(context.append("memory", f"{n}") for n, context in enumerate(contexts))
        )
        block = await contexts[0].block("memory")
        assert sorted(block.content.split("\n")) == [f"{n}" for n in range(8)]


async def test_all_is_there_after_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/again.db"
    memory = BlockConfig("memory", description="Fäcts — 部署 👩‍🚀", max_tokens=100)
    with sapwood.open(url, owner="ada") as sessions:
        sessions.session("chat")
        notes = StoreEntries(sessions.store, "ada", "notes")
        context = Context(
            sessions.store, "ada", "chat", [memory, BlockConfig("notes", provider=notes)]
        )
        context.replace("memory", "Likes tea.\n\u2028 and more\t")
        context.put_entry("notes", "a", "text")
        context.load("notes", "a")
        frozen = context.freeze()
        context.append("memory", "later")
        told = context.updates()
        before = (context.block("memory"), context.versions("memory"), context.cache_report())
    with sapwood.open(url, owner="ada") as sessions:
        notes = StoreEntries(sessions.store, "ada", "notes")
        again = Context(
            sessions.store, "ada", "chat", [memory, BlockConfig("notes", provider=notes)]
        )
        assert again.freeze().encode() == frozen.encode()
        assert again.updates() == told
        assert again.loaded() == [("notes", "a")]
        assert (again.block("memory"), again.versions("memory"), again.cache_report()) == before
    async with sapwood.open_async(url, owner="ada") as others:
        third = AsyncContext(others.store, "ada", "chat", [memory])
        assert await third.peek() == frozen

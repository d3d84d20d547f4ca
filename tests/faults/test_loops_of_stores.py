"""An async store may be used on any number of event loops, one after the other or at once."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers.urls import SERVERS, emptied

from sapwood.errors import ClosedError, UsageError
from sapwood.model import NewSession, Read, Search
from sapwood.store import AsyncStore

from .loops import STORES, Loop, given, open_on
from .support import ADA, run_in_threads, say

ROUNDS = 5
AT_ONCE = 10


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AsyncStore]:
    """Give a store that no loop used so far; what it leaves behind is looked at in the end."""
    monkeypatch.chdir(tmp_path)
    yield open_on(request.param, tmp_path, request)
    # What was not closed would say so here.
    gc.collect()


def run(work: Any) -> Any:
    """Run on a loop of its own, which ends then."""
    with Loop() as loop:
        return loop.run(work)


async def begin(store: AsyncStore) -> None:
    await store.create_session(ADA, NewSession(id="s"))


async def write(store: AsyncStore, writer: str) -> None:
    """Append messages, some at once, again and again."""
    for n in range(ROUNDS):
        ids = [f"{writer}.{n}.{k}" for k in range(AT_ONCE)]
        await asyncio.gather(*(store.append(ADA, "s", [say(id)]) for id in ids))


def written(*writers: str) -> list[str]:
    return sorted(
        f"{writer}.{n}.{k}" for writer in writers for n in range(ROUNDS) for k in range(AT_ONCE)
    )


async def ids_in(store: AsyncStore) -> list[str]:
    return [it.id for it in (await store.read(ADA, "s", Read())).messages_only]


def test_one_loop_after_the_other_may_use_a_store(store: AsyncStore) -> None:
    run(begin(store))
    for writer in "abc":
        run(write(store, writer))
    assert sorted(run(ids_in(store))) == written(*"abc")
    hits = run(store.search(ADA, Search(text="a.0.0")))
    assert [it.entry.id for it in hits.hits] == ["a.0.0"]
    run(store.aclose())


def test_loops_in_several_threads_may_use_a_store_at_once(store: AsyncStore) -> None:
    run(begin(store))
    run_in_threads(*(lambda name=name: run(write(store, name)) for name in "ab"))
    assert sorted(run(ids_in(store))) == written(*"ab")
    run(store.aclose())


def test_a_loop_that_is_blocked_does_not_hold_up_another(store: AsyncStore) -> None:
    go_on = threading.Event()
    with Loop() as first, Loop() as second:
        first.run(begin(store))
        first.run(write(store, "a"))
        first.block(go_on)
        second.run(write(store, "b"))
        go_on.set()
        first.run(write(store, "c"))
        assert sorted(second.run(ids_in(store))) == written(*"abc")
        second.run(store.aclose())


def test_a_store_may_be_closed_on_a_loop_that_did_not_use_it(store: AsyncStore) -> None:
    with Loop() as first, Loop() as second:
        first.run(begin(store))
        run_in_threads(lambda: first.run(write(store, "a")), lambda: second.run(write(store, "b")))
        run(store.aclose())
        for loop in (first, second):
            with pytest.raises(ClosedError):
                loop.run(store.append(ADA, "s", [say("late")]))
        run(store.aclose())


def test_a_store_may_be_closed_while_a_loop_that_used_it_is_blocked(store: AsyncStore) -> None:
    go_on = threading.Event()
    with Loop() as first:
        first.run(begin(store))
        first.run(write(store, "a"))
        first.block(go_on)
        run(store.aclose())
        go_on.set()
        with pytest.raises(ClosedError):
            first.run(ids_in(store))


def test_a_store_that_is_never_closed_leaves_nothing_when_its_loops_end(store: AsyncStore) -> None:
    run(begin(store))
    run(write(store, "a"))
    assert len(run(ids_in(store))) == ROUNDS * AT_ONCE


@pytest.mark.parametrize("name", SERVERS)
def test_a_client_of_ones_own_is_refused_on_another_loop_before_anything_is_sent(
    name: str, request: pytest.FixtureRequest
) -> None:
    emptied(name, request)
    with Loop() as first, Loop() as second:
        store, close = first.run(given(name, request.getfixturevalue(f"{name}_url")))
        first.run(begin(store))
        with pytest.raises(UsageError, match="another event loop"):
            second.run(store.append(ADA, "s", [say("m1")]))
        assert first.run(ids_in(store)) == []
        second.run(store.aclose())
        first.run(close())

"""No outcome is told before the commit that it rests on: when that fails, everybody is told."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from sapwood.errors import NotFoundError, SapwoodError, StoreUnavailableError
from sapwood.model import ForkPoint, NewSession, Read
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore

from .faulty import FaultyVfs
from .support import (
    ADA,
    assert_sound,
    ids_in,
    make_session,
    open_async_store,
    open_store,
    run_in_threads,
    say,
    wait_until,
    writer_of,
)

CALLERS = 20
FAULTS = [
    pytest.param(apsw.SQLITE_IOERR_FSYNC, "sync", id="sync"),
    pytest.param(apsw.SQLITE_IOERR_WRITE, "write", id="write"),
    pytest.param(apsw.SQLITE_FULL, "write", id="full"),
]


@pytest.fixture
def vfs() -> Iterator[FaultyVfs]:
    faulty = FaultyVfs(f"sapwood-faulty-{uuid.uuid4().hex}")
    yield faulty
    faulty.unregister()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def store(path: Path, vfs: FaultyVfs) -> Iterator[SqliteStore]:
    with open_store(path, vfs=vfs.name) as opened:
        make_session(opened, "s")
        yield opened


def append_in_one_group(store: SqliteStore, vfs: FaultyVfs, fault: tuple[int, str]) -> list[object]:
    """Let callers gather behind a slow commit, then let the one for all of them fail."""
    told: list[object] = [None] * CALLERS

    def call(n: int) -> None:
        try:
            told[n] = store.append(ADA, "s", [say(f"m{n}.{k}") for k in range(1 + n % 3)])
        except SapwoodError as error:
            told[n] = error

    def fail_the_group() -> None:
        assert vfs.is_waiting.wait(30)
        wait_until(lambda: len(writer_of(store)._jobs) == CALLERS)
        vfs._failing = {fault[1]: fault[0]}
        vfs.let_go()

    vfs.hold_next_sync()
    first = threading.Thread(target=lambda: store.append(ADA, "s", [say("first")]))
    first.start()
    assert vfs.is_waiting.wait(30)
    run_in_threads(fail_the_group, *(lambda n=n: call(n) for n in range(CALLERS)))
    first.join()
    vfs._failing = {}
    return told


def jobs_of(store: SqliteStore) -> object:
    return store._runner._writer._jobs  # type: ignore[attr-defined]


@pytest.mark.parametrize(("code", "operation"), FAULTS)
def test_every_thread_of_a_group_whose_commit_fails_is_told(
    store: SqliteStore, path: Path, vfs: FaultyVfs, code: int, operation: str
) -> None:
    told = append_in_one_group(store, vfs, (code, operation))
    assert [type(it) for it in told] == [StoreUnavailableError] * CALLERS
    assert len({id(it) for it in told}) == CALLERS
    assert ids_in(store, "s") == ["first"]
    store.append(ADA, "s", [say("m0.0")])
    assert ids_in(store, "s") == ["first", "m0.0"]
    store.close()
    assert_sound(path)
    with open_store(path) as again:
        assert ids_in(again, "s") == ["first", "m0.0"]


@pytest.mark.parametrize(("code", "operation"), FAULTS)
async def test_every_task_of_a_group_whose_commit_fails_is_told(
    path: Path, vfs: FaultyVfs, code: int, operation: str
) -> None:
    async with open_async_store(path, vfs=vfs.name) as store:
        await store.create_session(ADA, NewSession(id="s"))
        told = await gather_in_one_group(store, vfs, (code, operation))
        assert told[0].tip == "first"
        assert [type(it) for it in told[1:]] == [StoreUnavailableError] * CALLERS
        await store.append(ADA, "s", [say("m0")])
        history = await store.read(ADA, "s", Read())
        assert [it.id for it in history.messages_only] == ["first", "m0"]
    assert_sound(path)


async def gather_in_one_group(
    store: AsyncSqliteStore, vfs: FaultyVfs, fault: tuple[int, str]
) -> list[Any]:
    vfs.hold_next_sync()
    names = ["first", *(f"m{n}" for n in range(CALLERS))]
    tasks = [asyncio.ensure_future(store.append(ADA, "s", [say(names[0])]))]
    await asyncio.to_thread(vfs.is_waiting.wait, 30)
    tasks += [asyncio.ensure_future(store.append(ADA, "s", [say(it)])) for it in names[1:]]
    await asyncio.sleep(0.01)
    with vfs.failing(*fault):
        vfs.let_go()
        return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(("code", "operation"), FAULTS)
def test_a_commit_that_fails_leaves_nothing_behind(
    store: SqliteStore, path: Path, vfs: FaultyVfs, code: int, operation: str
) -> None:
    store.append(ADA, "s", [say("before")])
    with vfs.failing(code, operation):
        for n in range(3):
            with pytest.raises(StoreUnavailableError) as caught:
                store.append(ADA, "s", [say(f"m{n}"), say(f"n{n}")])
            assert caught.value.retryable
            assert isinstance(caught.value.__cause__, apsw.Error)
            assert ids_in(store, "s") == ["before"]
    store.append(ADA, "s", [say("m0"), say("n0")])
    assert ids_in(store, "s") == ["before", "m0", "n0"]
    store.close()
    assert_sound(path)


@pytest.mark.parametrize(
    "call", ["append", "delete_session", "clear_session", "finish_deletions", "read"]
)
def test_no_error_of_the_driver_escapes_when_the_whole_disk_fails(
    store: SqliteStore, path: Path, vfs: FaultyVfs, call: str
) -> None:
    store.append(ADA, "s", [say(f"m{n}", "x" * 2_000) for n in range(500)])
    store.finish_deletions()
    calls = {
        "append": lambda: store.append(ADA, "s", [say("new", "y" * 100_000)]),
        "delete_session": lambda: store.delete_session(ADA, "s"),
        "clear_session": lambda: store.clear_session(ADA, "s"),
        "finish_deletions": store.finish_deletions,
        "read": lambda: store.read(ADA, "s", Read()),
    }
    with (
        vfs.failing(apsw.SQLITE_IOERR, "read", "write", "sync", "truncate"),
        pytest.raises(StoreUnavailableError),
    ):
        calls[call]()
    assert len(ids_in(store, "s")) == 500
    store.append(ADA, "s", [say("after")])
    store.close()
    assert_sound(path)


def test_work_that_fails_alone_leaves_nothing_behind(store: SqliteStore, path: Path) -> None:
    new = NewSession(id="bad", fork=ForkPoint(session="s", message="missing"))
    for n in range(3):
        with pytest.raises(NotFoundError):
            store.create_session(ADA, new)
        store.append(ADA, "s", [say(f"m{n}")])
    assert store.find_session(ADA, "bad") is None
    assert ids_in(store, "s") == ["m0", "m1", "m2"]
    store.close()
    assert_sound(path)


def test_work_that_fails_in_a_group_takes_nobody_with_it(
    store: SqliteStore, path: Path, vfs: FaultyVfs
) -> None:
    """Each is in a savepoint of its own: what it wrote before it failed is undone alone."""
    told: dict[str, object] = {}

    def call(name: str, work: object) -> None:
        try:
            told[name] = work()  # type: ignore[operator]
        except SapwoodError as error:
            told[name] = error

    def fork_of_nothing(n: int) -> None:
        fork = ForkPoint(session="s", message="missing")
        call(f"bad{n}", lambda: store.create_session(ADA, NewSession(id=f"bad{n}", fork=fork)))

    def let_go() -> None:
        wait_until(lambda: len(writer_of(store)._jobs) == CALLERS)
        vfs.let_go()

    vfs.hold_next_sync()
    first = threading.Thread(target=lambda: store.append(ADA, "s", [say("first")]))
    first.start()
    assert vfs.is_waiting.wait(30)
    run_in_threads(
        let_go,
        *(lambda n=n: fork_of_nothing(n) for n in range(CALLERS // 2)),
        *(
            lambda n=n: call(f"m{n}", lambda: store.append(ADA, "s", [say(f"m{n}")]))
            for n in range(CALLERS // 2)
        ),
    )
    first.join()
    assert all(isinstance(told[f"bad{n}"], NotFoundError) for n in range(CALLERS // 2))
    assert sorted(ids_in(store, "s")) == sorted(["first", *(f"m{n}" for n in range(10))])
    assert store.statistics(ADA).sessions == 1
    store.close()
    assert_sound(path)

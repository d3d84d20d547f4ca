"""What is special to the SQLite store, beside its faults and its costs."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import apsw
import pytest

from sapwood.errors import ClosedError, NotFoundError, UsageError
from sapwood.model import (
    EntryRef,
    NewMessage,
    NewOverlay,
    NewSession,
    Read,
    Search,
    SessionPatch,
    SessionQuery,
    TextPart,
)
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore
from sapwood.stores.sqlite.failure import translate
from sapwood.testing.clock import ManualClock
from sapwood.testing.makers import ids_told

ADA = "ada"
DAY_S = 24 * 3_600


def clock() -> int:
    return time.time_ns() // 1_000


NEW_ID = IdMaker(clock, os.urandom)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(path, clock=clock, new_id=NEW_ID, durability="normal") as opened:
        opened.create_session(ADA, NewSession(id="s"))
        yield opened


def say(id: str | None = None) -> NewMessage:
    return NewMessage(role="user", parts=[TextPart(text="hello")], id=id)


LONG = "9" * 30
END = EntryRef(kind="message", id="m1")


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.list_sessions(ADA, SessionQuery(cursor=f"{LONG}.1")),
        lambda store: store.list_sessions(ADA, SessionQuery(cursor=f"1.{LONG}")),
        lambda store: store.list_sessions(ADA, SessionQuery(cursor="-1.1")),
        lambda store: store.changes(ADA, after=f"{LONG}.0"),
        lambda store: store.changes(ADA, after=f"0.{LONG}"),
        lambda store: store.add_overlay(
            ADA, "s", NewOverlay(first=END, last=END, summary="x", snapshot=LONG)
        ),
    ],
)
def test_a_number_that_sqlite_cannot_hold_is_refused(
    store: SqliteStore, call: Callable[[SqliteStore], object]
) -> None:
    store.append(ADA, "s", [say("m1")])
    with pytest.raises(UsageError):
        call(store)


def test_the_digest_of_an_erased_message_is_erased_too(store: SqliteStore, path: Path) -> None:
    store.append(ADA, "s", [say("m1")])
    changed = NewMessage(role="user", parts=[TextPart(text="changed")], id="m1")
    store.update_message(ADA, "s", changed)
    assert kept_digests(path) == 1
    store.delete_messages(ADA, "s", ["m1"])
    assert kept_digests(path) == 0


def kept_digests(path: Path) -> object:
    raw = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return raw.execute("SELECT count(digest) FROM message").get
    finally:
        raw.close()


def test_every_deletion_is_swept_without_being_asked_again(store: SqliteStore, path: Path) -> None:
    for n in range(60):
        for name in ("a", "b"):
            store.create_session(ADA, NewSession(id=name))
            store.append(ADA, name, [say() for _ in range(n % 5 + 1)])
        store.delete_session(ADA, "a")
        time.sleep(n % 7 / 1_000)
        store.delete_session(ADA, "b")
        deadline = time.monotonic() + 10
        while rows_left(path):
            assert time.monotonic() < deadline, f"round {n}: nobody sweeps"
            time.sleep(0.002)


def rows_left(path: Path) -> int:
    raw = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = raw.execute("SELECT count(*) FROM message").get
    finally:
        raw.close()
    assert isinstance(found, int)
    return found


def test_a_caller_whose_loop_was_busy_while_another_closed_is_told(path: Path) -> None:
    """The batch that waits on a busy loop is handed over after the worker has gone."""
    store = AsyncSqliteStore(path, clock=clock, new_id=NEW_ID)
    begun = threading.Event()

    async def outcome(call: Awaitable[object]) -> str:
        try:
            await call
        except ClosedError:
            return "refused"
        return "done"

    async def write() -> list[str]:
        await store.create_session(ADA, NewSession(id="s"))
        calls = [outcome(store.append(ADA, "s", [say()])) for _ in range(32)]
        tasks = [asyncio.ensure_future(call) for call in calls]
        await asyncio.sleep(0)
        begun.set()
        time.sleep(0.3)  # noqa: ASYNC251  the loop is to be busy
        return await asyncio.wait_for(asyncio.gather(*tasks), 10)

    async def close() -> None:
        await store.aclose()

    def close_elsewhere() -> None:
        begun.wait(10)
        asyncio.run(close())

    closer = threading.Thread(target=close_elsewhere)
    closer.start()
    told = asyncio.run(write())
    closer.join()
    with SqliteStore(path, clock=clock, new_id=NEW_ID) as again:
        assert len(again.read(ADA, "s", Read()).entries) == told.count("done")
    assert set(told) <= {"done", "refused"}


def test_a_cursor_behind_which_the_feed_was_trimmed_is_refused(path: Path) -> None:
    clock = ManualClock()
    with SqliteStore(path, clock=clock, new_id=NEW_ID, durability="normal") as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        old = store.changes(ADA).cursor
        store.append(ADA, "s", [say("m2")])
        store.append(ADA, "s", [say("m3")])
        newest = store.changes(ADA).cursor
        clock.advance(2 * 24 * 3600)
        store.finish_deletions()
        with pytest.raises(NotFoundError, match="trimmed"):
            store.changes(ADA, after=old)
        store.append(ADA, "s", [say("m4")])
        assert ids_told(store.changes(ADA, after=newest)) == ["m4"]


def test_a_relative_file_stays_where_it_was_when_the_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with SqliteStore("s.db", clock=clock, new_id=NEW_ID, durability="normal") as store:
        store.create_session(ADA, NewSession(id="s"))
        monkeypatch.chdir(tmp_path / "there")
        store.append(ADA, "s", [say("m1")])
        assert [message.id for message in store.read(ADA, "s", Read()).messages_only] == ["m1"]
        store.finish_deletions()
        assert len(store.search(ADA, Search(text="hello")).hits) == 1
    assert list((tmp_path / "there").iterdir()) == []
    assert {file.name for file in (tmp_path / "here").iterdir()} == {"s.db", "s.db-search"}


def test_a_cursor_within_the_first_change_is_refused_when_that_was_trimmed(path: Path) -> None:
    clock = ManualClock()
    with SqliteStore(path, clock=clock, new_id=NEW_ID, durability="normal") as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say(f"a{n}") for n in range(4)])
        within = store.changes(ADA, limit=2).cursor
        clock.advance(2 * DAY_S)
        store.append(ADA, "s", [say(f"b{n}") for n in range(4)])
        store.finish_deletions()
        with pytest.raises(NotFoundError, match="trimmed"):
            store.changes(ADA, after=within)


def test_what_was_trimmed_stays_known_after_a_clock_that_was_ahead(path: Path) -> None:
    clock = ManualClock()
    with SqliteStore(path, clock=clock, new_id=NEW_ID, durability="normal") as store:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(10):
            clock.advance(3 * DAY_S if n == 3 else 0)
            store.append(ADA, "s", [say(f"m{n}")])
            clock.advance(-3 * DAY_S if n == 3 else 0)
        old = store.changes(ADA, limit=6).cursor
        for _ in range(2):
            clock.advance(2.5 * DAY_S)
            store.finish_deletions()
            with pytest.raises(NotFoundError, match="trimmed"):
                store.changes(ADA, after=old)


def test_a_link_to_a_file_is_the_file(path: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.db"
    link.symlink_to(path)
    with SqliteStore(link, clock=clock, new_id=NEW_ID, durability="normal") as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        store.finish_deletions()
    with SqliteStore(path, clock=clock, new_id=NEW_ID, durability="normal") as store:
        store.delete_messages(ADA, "s", ["m1"])
        store.finish_deletions()
    assert {file.name for file in link.parent.iterdir()} == {"link.db"}
    assert not any(b"hello" in file.read_bytes() for file in tmp_path.iterdir() if file.is_file())


def test_a_name_with_a_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NUL"):
        SqliteStore(tmp_path / "a\0b.db", clock=clock, new_id=NEW_ID)


def test_titles_are_compared_to_their_end(store: SqliteStore) -> None:
    store.update_session(ADA, "s", SessionPatch(title="a\0büc"))

    def found(prefix: str) -> int:
        return len(store.list_sessions(ADA, SessionQuery(title_prefix=prefix)).sessions)

    assert [found(prefix) for prefix in ("", "a", "a\0bü", "a\0büc")] == [1, 1, 1, 1]
    assert [found(prefix) for prefix in ("a\0c", "a\0büd", "a\0bücd")] == [0, 0, 0]


@pytest.mark.parametrize("error", [apsw.ProtocolError, apsw.SchemaChangeError])
def test_what_passes_by_itself_may_be_tried_again(error: type[apsw.Error]) -> None:
    assert translate(error("it passes"), "s.db").retryable


@pytest.mark.parametrize(("given", "kept"), [("full", 2), ("normal", 1), ("off", 1), ("0", 1)])
def test_no_word_for_durability_switches_syncing_off(path: Path, given: str, kept: int) -> None:
    with SqliteStore(path, clock=clock, new_id=NEW_ID, durability=given) as store:  # type: ignore[arg-type]
        assert store._runner._writer._tx.raw.pragma("synchronous") == kept  # type: ignore[attr-defined]

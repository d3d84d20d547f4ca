"""A signal's handler that calls the store in the middle of a call of the same thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sapwood.errors import ClosedError, SapwoodError, UsageError
from sapwood.model import Read
from sapwood.stores.sqlite import SqliteStore

from .support import ADA, assert_sound, clock, make_session, new_id, open_store, say

pytestmark = pytest.mark.fault


class Alarm:
    """A clock during which a signal comes, once, after it was set."""

    def __init__(self) -> None:
        self.is_set = False

    def __call__(self) -> int:
        if self.is_set:
            self.is_set = False
            signal.raise_signal(signal.SIGUSR1)
        return clock()


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    before = signal.getsignal(signal.SIGUSR1)
    yield Alarm()
    signal.signal(signal.SIGUSR1, before)


def on_signal(call: Callable[[], object], told: list[SapwoodError]) -> None:
    def handle(*_: object) -> None:
        try:
            call()
        except SapwoodError as error:
            told.append(error)

    signal.signal(signal.SIGUSR1, handle)


def open_with(path: Path, alarm: Alarm) -> SqliteStore:
    store = SqliteStore(path, clock=alarm, new_id=new_id)
    make_session(store, "s")
    return store


def stored(path: Path) -> list[str]:
    with open_store(path) as store:
        return [message.id for message in store.read(ADA, "s", Read()).messages_only]


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.append(ADA, "s", [say("within")]),
        lambda store: store.delete_session(ADA, "s"),
        lambda store: store.finish_deletions(),
    ],
)
def test_a_write_within_a_write_is_refused_and_the_outer_one_is_stored(
    tmp_path: Path, alarm: Alarm, call: Callable[[SqliteStore], object]
) -> None:
    told: list[SapwoodError] = []
    with open_with(tmp_path / "s.db", alarm) as store:
        on_signal(lambda: call(store), told)
        alarm.is_set = True
        assert store.append(ADA, "s", [say("outer")]).written == 1
        store.append(ADA, "s", [say("after")])
    assert [type(error) for error in told] == [UsageError]
    assert "the call that this one interrupted" in str(told[0])
    assert stored(tmp_path / "s.db") == ["outer", "after"]
    assert_sound(tmp_path / "s.db")


def test_closing_within_a_write_happens_after_it(tmp_path: Path, alarm: Alarm) -> None:
    told: list[SapwoodError] = []
    store = open_with(tmp_path / "s.db", alarm)
    on_signal(store.close, told)
    alarm.is_set = True
    assert store.append(ADA, "s", [say("outer")]).written == 1
    assert told == []
    with pytest.raises(ClosedError):
        store.append(ADA, "s", [say("after")])
    assert not (tmp_path / "s.db-wal").exists()
    assert stored(tmp_path / "s.db") == ["outer"]


def test_closing_within_a_write_waits_for_nobody_who_waits_for_it(
    tmp_path: Path, alarm: Alarm
) -> None:
    store = open_with(tmp_path / "s.db", alarm)
    told: list[SapwoodError] = []
    waiting: list[threading.Thread] = []

    def let_another_wait() -> None:
        waiting.append(threading.Thread(target=append_until_closed, args=(store,), daemon=True))
        waiting[0].start()
        while not store._runner._writer._jobs:  # type: ignore[attr-defined]
            continue
        store.close()

    on_signal(let_another_wait, told)
    alarm.is_set = True
    assert store.append(ADA, "s", [say("outer")]).written == 1
    waiting[0].join(30)
    assert not waiting[0].is_alive()
    assert stored(tmp_path / "s.db")[0] == "outer"


def append_until_closed(store: SqliteStore) -> None:
    try:
        while True:
            store.append(ADA, "s", [say(None)])
    except ClosedError:
        return


def test_a_handler_that_closes_and_exits_leaves_the_call_undone(
    tmp_path: Path, alarm: Alarm
) -> None:
    store = open_with(tmp_path / "s.db", alarm)

    def leave() -> None:
        store.close()
        raise SystemExit(0)

    on_signal(leave, [])
    alarm.is_set = True
    with pytest.raises(SystemExit):
        store.append(ADA, "s", [say("outer")])
    assert not (tmp_path / "s.db-wal").exists()
    assert stored(tmp_path / "s.db") == []
    assert_sound(tmp_path / "s.db")

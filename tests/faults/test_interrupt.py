"""Ctrl-C at an awkward moment leaves a store that works: no lock is held, no old state is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.model import Search
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.database import MOST_READERS

from .support import ADA, ids_in, make_session, open_store, run_in_threads, say, writer_of


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with open_store(tmp_path / "s.db") as opened:
        make_session(opened, "s")
        opened.append(ADA, "s", [say("m1")])
        yield opened


class InterruptedLock:
    """A lock whose taker is interrupted when it has it, before it can do anything else."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self.left = 1

    def acquire(self, *args: Any) -> bool:
        is_taken: bool = self._lock.acquire(*args)
        if self.left:
            self.left -= 1
            raise KeyboardInterrupt
        return is_taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *details: object) -> None:
        self._lock.release()


@pytest.mark.fault
def test_an_interrupt_as_the_writer_is_taken_does_not_keep_it(store: SqliteStore) -> None:
    writer = writer_of(store)
    writer.lock = InterruptedLock(writer.lock)
    with pytest.raises(KeyboardInterrupt):
        store.append(ADA, "s", [say("m2")])
    run_in_threads(lambda: store.append(ADA, "s", [say("m3")]), timeout_s=20)
    assert ids_in(store, "s") == ["m1", "m3"]


@pytest.mark.fault
@pytest.mark.parametrize("moment", ["BEGIN", "COMMIT"])
def test_an_interrupt_as_a_snapshot_begins_or_ends_does_not_keep_it(
    store: SqliteStore, moment: str
) -> None:
    ids_in(store, "s")
    database: Any = store._runner
    (unit,) = database._readers._free
    execute, left = unit.tx._execute, [moment]

    def interrupted(sql: str, *args: Any) -> Any:
        if sql in left:
            left.remove(sql)
            if moment == "BEGIN":
                execute(sql, *args)
            raise KeyboardInterrupt
        return execute(sql, *args)

    unit.tx._execute = interrupted
    with pytest.raises(KeyboardInterrupt):
        ids_in(store, "s")
    store.append(ADA, "s", [say("m2")])
    assert ids_in(store, "s") == ["m1", "m2"]
    assert len(store.search(ADA, Search(text="m2")).hits) == 1


@pytest.mark.fault
def test_readers_that_interrupts_took_away_make_room_for_others(store: SqliteStore) -> None:
    database: Any = store._runner
    for _ in range(2 * MOST_READERS):
        run_in_threads(database._readers._take, timeout_s=20)
    assert ids_in(store, "s") == ["m1"]

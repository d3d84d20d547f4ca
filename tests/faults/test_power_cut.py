"""Rule 1: at full durability nothing acknowledged is lost when the power goes.

A kill alone cannot tell `synchronous=FULL` from `OFF`: the kernel still has what was written.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from tier import often

from sapwood.errors import StoreError
from sapwood.stores.sqlite import SqliteStore, connection
from sapwood.testing import COUNTS

from .actors import THREADS, WRITTEN, deleter, live_on_loop, make_if_absent, thread_writer
from .ledger import Ledger
from .power import Disk, PowerCutError, PowerVfs
from .support import open_store, run_in_threads, writer_connection

CUTS_OF_A_FILE = 20
Setting = Callable[[apsw.Connection], object]


class ListedNotes(list[list[Any]]):
    """What was acknowledged, in memory."""

    def add(self, *what: Any) -> None:
        self.append(list(what))


class Machine:
    """A computer whose power is cut again and again; the database goes on from what survived."""

    def __init__(self, folder: Path, seed: int, durability: str, setting: Setting | None) -> None:
        self.dice = random.Random(seed)
        self.cuts = 0
        self.lost = 0
        self.damaged = 0
        self.acknowledged = 0
        self._folder = folder
        self._durability = durability
        self._setting = setting

    def run(self, cuts: int) -> None:
        """Cut the power so many times, and check what is found after each."""
        while self.cuts < cuts:
            self._run_one_file(min(CUTS_OF_A_FILE, cuts - self.cuts))

    def _run_one_file(self, cuts: int) -> None:
        ledger = Ledger()
        here = self._new_folder()
        for life in range(cuts):
            after = self._new_folder()
            self.cuts += 1
            try:
                notes = self._live_until_cut(here / "cut.db", after, life)
                self.lost += check(after / "cut.db", ledger, life, notes)
            except (AssertionError, StoreError):
                if self._setting is None:
                    raise
                self.damaged += 1
                return
            here = after
        self.acknowledged += ledger.acknowledged

    def _new_folder(self) -> Path:
        folder = self._folder / f"{len(list(self._folder.iterdir()))}"
        folder.mkdir()
        return folder

    def _live_until_cut(self, path: Path, after: Path, life: int) -> ListedNotes:
        disk = Disk(self.dice)
        vfs = PowerVfs("sapwood-power", disk)
        notes = ListedNotes()
        disk.cut_after(self.dice.randrange(900))
        store = None
        try:
            store = self._open(path, disk)
            if store is not None:
                with pytest.raises(StoreError) as caught:
                    self._write(store, str(path), notes, life)
                assert disk.is_cut, repr(caught.value)
        finally:
            disk.write_survivors(after)
            if store is not None:
                store.close()
            vfs.unregister()
        return notes

    def _open(self, path: Path, disk: Disk) -> SqliteStore | None:
        # Closing the connection again raises what a VFS in Python raises; SQLite's own cannot.
        try:
            return open_store(path, vfs="sapwood-power", durability=self._durability)
        except (StoreError, PowerCutError):
            if not disk.is_cut:
                raise
            return None

    def _write(self, store: SqliteStore, path: str, notes: ListedNotes, life: int) -> None:
        if self._setting is not None:
            self._setting(writer_connection(store))
        for session in WRITTEN:
            make_if_absent(store, f"g-{session}")
        options = {"vfs": "sapwood-power", "durability": self._durability}
        run_in_threads(
            *(lambda name=name: thread_writer(store, notes, life, name, "g") for name in THREADS),
            lambda: deleter(store, notes, life, "g"),
            lambda: settler(store),
            *([] if self._setting else [lambda: loop(path, notes, life, options)]),
        )


def check(path: Path, ledger: Ledger, life: int, notes: ListedNotes) -> int:
    """Look for damage; give the number of acknowledged operations that are lost."""
    with open_store(path) as store:
        assert store.admin.check() == []
        return ledger.check(store, life, "g", notes)


def settler(store: SqliteStore) -> None:
    """Empty the log every now and then, so that cuts fall into checkpoints, too."""
    while True:
        time.sleep(0.02)
        store.finish_deletions()


def loop(path: str, notes: ListedNotes, life: int, options: dict[str, Any]) -> None:
    asyncio.run(live_on_loop(path, notes, life, "g", **options))


@pytest.fixture(autouse=True)
def _checkpoint_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CHECKPOINT_PAGES", 60)


@pytest.mark.fault
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_at_full_durability_survives_a_power_cut(
    seed: int, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, seed, "full", None)
    machine.run(often(10, 150))
    COUNTS["power cuts"] += machine.cuts
    assert machine.lost == 0
    assert machine.acknowledged > machine.cuts


@pytest.mark.fault
def test_at_normal_durability_a_power_cut_takes_the_last_ones_and_damages_nothing(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, 3, "normal", None)
    machine.run(often(30, 60))
    COUNTS["power cuts"] += machine.cuts
    assert machine.lost > 0, "the disk forgets nothing: this proves nothing about FULL either"


@pytest.mark.fault
def test_the_cuts_find_a_store_that_does_not_sync(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 4, "full", lambda raw: raw.pragma("synchronous", "OFF"))
    machine.run(40)
    assert machine.lost > 0
    assert machine.damaged > 0

"""Rule 1: nothing acknowledged is lost when a writing process is killed, at whatever moment."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tier import often

from sapwood.testing import COUNTS

from .ledger import Ledger
from .nursery import Nursery
from .support import open_store, raw, value

KILLS = often(8, 200)
LIVES_IN_A_GROUP = 10

_ORPHANS = (
    "SELECT count(*) FROM message m"
    " WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.home = m.home)"
)


@pytest.mark.fault
@pytest.mark.parametrize(
    ("seed", "durability", "kills"),
    [(1, "full", KILLS), (2, "full", KILLS), (3, "normal", often(4, 50))],
)
def test_what_was_acknowledged_survives_kill_9(
    seed: int, durability: str, kills: int, tmp_path: Path
) -> None:
    path = tmp_path / "killed.db"
    dice = random.Random(seed)
    ledger = Ledger()
    with Nursery(path) as nursery:
        for life in range(kills):
            group = f"g{life // LIVES_IN_A_GROUP}"
            # An observer keeps the log's index alive: without one, opening recovers it.
            observer = open_store(path) if life % 3 == 2 else None
            delay_s = dice.uniform(0.01, 0.1)
            notes = nursery.live_and_kill(life, group, delay_s, durability=durability)
            check_life(path, ledger, life, group, notes)
            if observer is not None:
                observer.close()
    check_everything(path, ledger)
    COUNTS[f"kills, durability {durability}"] += nursery.kills
    assert ledger.acknowledged > kills


def check_life(path: Path, ledger: Ledger, life: int, group: str, notes: list[list[Any]]) -> None:
    with open_store(path) as store:
        assert [note for note in notes if note[0] == "error"] == []
        assert ledger.check(store, life, group, notes) == 0
        if life % LIVES_IN_A_GROUP == LIVES_IN_A_GROUP - 1:
            assert store.admin.check() == []
    with raw(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def check_everything(path: Path, ledger: Ledger) -> None:
    with open_store(path) as store:
        ledger.check_again(store)
        store.finish_deletions()
        assert store.admin.check() == []
    assert value(path, _ORPHANS) == 0
    assert value(path, "SELECT count(*) FROM sweep") == 0

"""Rule 14: the index is right whenever its indexer is killed, and however many index at once."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tier import often

from sapwood.model import Search, SessionQuery
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.index import indexer
from sapwood.testing import COUNTS

from .nursery import Nursery
from .searched import assert_right, assert_sound_index, assert_whole_index
from .support import ADA, make_session, open_store, raw, run_in_threads, say, value

INDEXING = Path(__file__).with_name("indexing.py")
KILLS = often(5, 30)
LIVES_IN_A_GROUP = 10


@pytest.mark.fault
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_indexer_killed_at_any_moment_leaves_an_index_that_goes_on(
    seed: int, tmp_path: Path
) -> None:
    path = tmp_path / "killed.db"
    dice = random.Random(seed)
    behind = 0
    with Nursery(path, [INDEXING, "nursery"]) as nursery:
        for life in range(KILLS):
            if life % 5 == 4:
                forget_index(path)
            group = f"g{life // LIVES_IN_A_GROUP}"
            notes = nursery.live_and_kill(life * 10 + seed, group, dice.uniform(0.02, 0.5))
            assert [note for note in notes if note[0] == "error"] == []
            behind += is_behind(path)
            check_index(path, settles=life % 2 == 1)
    COUNTS["kills of an indexer"] += nursery.kills
    COUNTS["kills that left an index behind"] += behind
    with open_store(path) as store:
        assert store.admin.check() == []


def forget_index(path: Path) -> None:
    """Let the next one begin from nothing, and be killed while it makes the index."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}-search{suffix}").unlink(missing_ok=True)


def is_behind(path: Path) -> bool:
    index = path.with_name(f"{path.name}-search")
    if not path.exists() or not index.exists():
        return False
    with raw(index) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'state'").fetchall():
            return True
        found = connection.execute("SELECT value FROM state WHERE name = 'seq'").fetchall()
    return not found or found[0][0] < value(path, "SELECT coalesce(max(seq), 0) FROM change")


def check_index(path: Path, settles: bool) -> None:
    """See that searches are right and the index is sound as it was left, and after it settled."""
    if not path.exists():
        return
    if path.with_name(f"{path.name}-search").exists():
        with raw(f"{path}-search") as index:
            assert index.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            is_made = index.execute("PRAGMA user_version").fetchall() == [(1,)]
        if is_made:
            assert_sound_index(path)
    with open_store(path) as store:
        assert_right(store, path)
        if settles:
            store.finish_deletions()
            assert_right(store, path)
            for session in sessions_in(store):
                assert_right(store, path, session)
    if settles:
        assert_whole_index(path)


def sessions_in(store: SqliteStore) -> list[str]:
    return [record.id for record in store.list_sessions(ADA, SessionQuery()).sessions]


@pytest.mark.fault
def test_searches_beside_writers_and_an_indexer_that_hurries_find_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages say one thing or another by turns: what is found says what was looked for."""
    monkeypatch.setattr(indexer, "REST_S", 0.0005)
    monkeypatch.setattr(indexer, "SMALL_BATCH", 2)
    monkeypatch.setattr(indexer, "PAUSES", 0)
    ends = time.monotonic() + 8

    def turn(store: SqliteStore) -> None:
        for n in itertools.cycle(range(60)):
            if time.monotonic() > ends:
                return
            said = ("alpha", "beta")[n // 20 % 2]
            store.update_message(ADA, "s", say(f"m{n % 20}", f"{said} always"))

    def search(store: SqliteStore) -> None:
        while time.monotonic() < ends:
            for word in ("alpha", "beta", "always"):
                hits = store.search(ADA, Search(text=word, limit=50)).hits
                assert all(word in hit.snippet and hit.marks for hit in hits)
                assert len({hit.entry.id for hit in hits}) == len(hits)
            # The last query was for what every message says at every moment.
            assert len(hits) == 20
            COUNTS["searches beside a writer and an indexer"] += 3

    with open_store(tmp_path / "s.db", durability="normal") as store:
        make_session(store, "s")
        store.append(ADA, "s", [say(f"m{n}", "alpha always") for n in range(20)])
        run_in_threads(*(partial(work, store) for work in (turn, search, search)))


@pytest.mark.fault
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("anew", [False, True])
def test_processes_that_index_at_once_index_everything_once(
    tmp_path: Path, processes: int, anew: bool
) -> None:
    path = tmp_path / "crowd.db"
    with open_store(path):
        pass
    if anew:
        # All of them find nothing, and begin to make an index.
        run_crowd(path, 1, 60)
        forget_index(path)
    run_crowd(path, processes, 100 // processes)
    assert_whole_index(path)
    with open_store(path) as store:
        assert_right(store, path)
        assert store.admin.check() == []
    live = value(path, "SELECT count(*) FROM message WHERE body IS NOT NULL")
    assert live > 500
    assert value(f"{path}-search", "SELECT count(*) FROM entry") == live
    COUNTS["runs with processes that index at once"] += 1


def run_crowd(path: Path, processes: int, rounds: int) -> None:
    """Let processes write and index at once, to the end."""
    first = len(list(path.parent.glob("ran-*")))
    crowd = []
    for number in range(first, first + processes):
        path.with_name(f"ran-{number}").touch()
        crowd.append(
            subprocess.Popen(
                [sys.executable, str(INDEXING), "crowd", str(path), str(number), str(rounds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    for process in crowd:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in crowd:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in crowd:
        out, err = process.communicate(timeout=300)
        assert (out, process.returncode) == ("done\n", 0), err
        assert err == ""

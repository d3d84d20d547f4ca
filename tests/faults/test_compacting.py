"""Rule 9 between processes: killed, racing, or too slow, a compaction is whole or not there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tier import often

from sapwood import Session, SessionManager, Summary
from sapwood.compaction import create_compact_function, is_valid_input
from sapwood.model import Entry, Overlay
from sapwood.rules.ids import IdMaker
from sapwood.session._sync import compactor
from sapwood.stores.memory import MemoryStore
from sapwood.stores.sqlite import SqliteStore
from sapwood.testing import COUNTS, ManualClock

from .compactors import APPENDED, LONG, open_sessions, summarizer
from .nursery import Nursery
from .support import ADA, assert_sound, raw

KILLS = often(8, 70)
LIVES_IN_A_GROUP = 8
SCRIPT = Path(__file__).with_name("compactors.py")


@pytest.mark.fault
def test_a_compaction_that_is_killed_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
    dice = random.Random(3)
    noted: dict[str, list[str]] = {}
    left = 0
    with Nursery(path, (SCRIPT,)) as nursery:
        for life in range(KILLS):
            group = f"g{life // LIVES_IN_A_GROUP}"
            notes = nursery.live_and_kill(life, group, dice.uniform(0.05, 0.25))
            assert [note for note in notes if note[0] == "error"] == []
            said = noted.setdefault(group, [])
            said += [id for note in notes if note[0] == "append" for id in note[2]]
            left += look_after_a_kill(path, life, group, said)
    assert_sound(path)
    assert left > often(0, 5), "no kill came while a compaction was at work"
    assert sum(map(len, noted.values())) > KILLS
    COUNTS["kills of a process that compacts"] += nursery.kills
    COUNTS["compactions that were killed"] += left


def look_after_a_kill(path: Path, life: int, group: str, said: list[str]) -> bool:
    """Check what a killed process left; tell whether it held the lease."""
    with raw(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with open_sessions(path, life) as sessions:
        chat = sessions.session(group)
        stored = [message.id for message in chat.history(overlays=False).messages_only]
        # What was not acknowledged any more may be there, too.
        assert [id for id in stored if id in set(said)] == said
        assert_covered_once(chat)
        lease = sessions.store.find_document(ADA, "compaction", session=group)
        assert sessions.store.admin.check() == []
    # Once its lease has expired, another may compact.
    settings = {"compact_with": summarizer(random.Random(life))}
    with open_sessions(path, life + 1, **settings) as sessions:
        chat = sessions.session(group)
        chat.append_all([("user", LONG)] * 4)
        assert chat.compact().status == "done"
        assert_covered_once(chat)
        assert is_valid_input(chat.prepare().messages)
    return lease is not None


def assert_covered_once(chat: Session) -> None:
    """Check that every message is shown, or under one summary that is shown, in order."""
    depths = [message.depth for message in chat.history(overlays=False).messages_only]
    entries = chat.history().entries
    assert [depth for entry in entries for depth in stands_for(entry)] == depths


def stands_for(entry: Entry) -> list[int]:
    if isinstance(entry, Summary):
        return list(range(entry.overlay.first.depth, entry.overlay.last.depth + 1))
    return [entry.depth]


def start(role: str, path: Path, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), role, str(path), str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def tell(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.fault
@pytest.mark.parametrize("compactors", [2, 4])
def test_processes_that_compact_at_once_do_it_one_at_a_time(
    tmp_path: Path, compactors: int
) -> None:
    path = tmp_path / "race.db"
    with open_sessions(path) as sessions:
        sessions.session("chat").append_all([("user", LONG)] * 12)
    crowd = [start("append", path, 0)]
    crowd += [start("compact", path, number) for number in range(1, compactors + 1)]
    assert [hear(process) for process in crowd] == ["ready"] * len(crowd)
    for process in crowd:
        tell(process, "go")
    told = [process.communicate(timeout=120)[0].splitlines() for process in crowd]
    assert [process.returncode for process in crowd] == [0] * len(crowd)
    done = sum(line.startswith("done") for lines in told for line in lines)
    with open_sessions(path) as sessions:
        check_race(sessions, done)
    assert_sound(path)
    COUNTS["compactions raced for"] += sum(map(len, told))


def check_race(sessions: SessionManager, done: int) -> None:
    chat = sessions.session("chat")
    ids = [message.id for message in chat.history(overlays=False).messages_only]
    assert ids[12:] == [f"0.{n}" for n in range(APPENDED)]
    overlays = chat.overlays()
    assert len(overlays) == done > 1
    assert len({(it.first, it.last) for it in overlays}) == done, "two for the same range"
    # Each was made by one who saw all that came before: so they lie apart, or one in the other.
    assert [pair for pair in combinations(overlays, 2) if cross(*pair)] == []
    assert_covered_once(chat)
    assert sessions.store.find_document(ADA, "compaction", session="chat") is None


def cross(one: Overlay, other: Overlay) -> bool:
    a, b = sorted((it.first.depth, it.last.depth) for it in (one, other))
    return a[0] < b[0] <= a[1] < b[1]


@pytest.mark.fault
def test_who_sleeps_longer_than_the_lease_loses_it_to_another_process(tmp_path: Path) -> None:
    path = tmp_path / "slow.db"
    with open_sessions(path, compact_with=summarizer(random.Random(1))) as sessions:
        chat = sessions.session("chat")
        chat.append_all([("user", LONG)] * 12)
        slow = start("slow", path, 0)
        assert hear(slow) == "ready"
        slow.send_signal(signal.SIGSTOP)
        # Refused until the other's lease has run out, by real time.
        while (outcome := chat.compact()).status == "refused":
            assert "at work" in outcome.reason
        shown = chat.history().entries
        slow.send_signal(signal.SIGCONT)
        tell(slow, "go on")
        [line] = slow.communicate(timeout=60)[0].splitlines()
        assert line == "refused the lease ran out, and another compaction took over"
        assert chat.history().entries == shown
        assert [it.id for it in chat.overlays()] == [outcome.overlay and outcome.overlay.id]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Any:
    new_id = IdMaker(clock, random.Random(1).randbytes)
    if request.param == "memory":
        return MemoryStore(clock=clock, new_id=new_id)
    return SqliteStore(tmp_path / "s.db", clock=clock, new_id=new_id)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.mark.parametrize("other_ends", [True, False])
def test_who_does_not_renew_the_lease_loses_it_by_the_stores_clock(
    store: Any, clock: ManualClock, other_ends: bool
) -> None:
    """Before the lease has run out nobody may take it, and after that anybody."""
    lease_s = compactor.LEASE_S
    told: list[str] = []

    def think(prompt: str) -> str:
        clock.advance(lease_s - 1)
        told.append(other.compact().status)
        clock.advance(2)
        if other_ends:
            told.append(other.compact().status)
        return "too late?"

    with store, SessionManager(store, owner=ADA, new_id=lambda: "x") as sessions:
        chat, other = sessions.session("chat"), sessions.session("chat")
        chat.append_all([("user", LONG)] * 12)
        other.compact_with(summarizer(random.Random(1)))
        chat.compact_with(
            create_compact_function(think, protect_head=1, tail_token_budget=100, timeout_s=None)
        )
        outcome = chat.compact()
        # Late, but nobody took it meanwhile: then the summary is as good as any.
        assert outcome.status == ("refused" if other_ends else "done")
        assert told == (["refused", "done"] if other_ends else ["refused"])
        assert len(chat.overlays()) == 1
        assert_covered_once(chat)

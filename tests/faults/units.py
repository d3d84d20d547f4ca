"""Units of work, fences and closing between processes: the same for every store that has a URL."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tier import often

from sapwood.model import NewSession, Read, SessionPatch, TextPart
from sapwood.store import Store
from sapwood.testing import COUNTS

from .nursery import Nursery
from .support import ADA, say, wait_until
from .unit_roles import SESSION, STREAM, open_at

ROLES = Path(__file__).with_name("unit_roles.py")
PROCESSES = 4
KILLS = often(6, 100)
TURNS = often(6, 40)
CLOSINGS = often(8, 100)


class UnitFaults:
    """Give a class the fixture `url`, of a store that is empty, and what it is called."""

    store_name: str

    @pytest.fixture
    def url(self) -> str:
        raise NotImplementedError

    @pytest.mark.fault
    def test_rule_01_a_unit_whose_process_is_killed_is_whole_or_not_there(
        self, url: str, tmp_path: Path
    ) -> None:
        with open_at(url) as store:
            store.create_session(ADA, NewSession(id=SESSION))
        dice = random.Random(5)
        there = 0
        with Nursery(tmp_path / "unit", (ROLES, "nursery", url)) as nursery:
            for life in range(KILLS):
                delay_s = dice.uniform(0, 0.05)
                notes = nursery.live_and_kill(life, SESSION, delay_s, once_it_noted=True)
                assert [note for note in notes if note[0] == "error"] == []
                told = max([there, *(note[1] for note in notes if note[0] == "append")])
                there = units_in(url)
                assert there in (told, told + 1)
        assert there >= KILLS
        with open_at(url) as store:
            assert store.admin.check() == []
        COUNTS[f"kills of a process that writes units, {self.store_name}"] += nursery.kills

    @pytest.mark.fault
    def test_rule_09_no_write_of_a_lost_fence_lands(self, url: str) -> None:
        with open_at(url) as store:
            store.create_session(ADA, NewSession(id=SESSION))
            store.append(ADA, SESSION, [say(STREAM)])
            with processes("hold", url, TURNS) as ends:
                told = ends()
            kinds = [kind for kind, *_ in told]
            done = sorted((it for it in told if it[3]), key=lambda it: it[3])
            assert_each_in_its_turn(done)
            assert_is_what_was_done(store, done)
            assert kinds.count("take") == PROCESSES * TURNS
            assert kinds.count("lost") > 0, "no fence was lost"
            assert kinds.count("renewed") > 0
            assert store.admin.check() == []
        COUNTS[f"fences lost by processes, {self.store_name}"] += kinds.count("lost")

    @pytest.mark.fault
    def test_nothing_is_acknowledged_after_the_closing_and_nothing_lost_before_it(
        self, url: str
    ) -> None:
        sessions = [f"closed-{n}" for n in range(CLOSINGS)]
        with open_at(url) as store:
            for session in (SESSION, *sessions):
                store.create_session(ADA, NewSession(id=session))
            with processes("append", url, CLOSINGS) as ends:
                seen = {session: close(store, session) for session in sessions}
                told = ends()
            for session in sessions:
                assert ids_in(store, session) == seen[session]
                acknowledged = sorted(id for name, id in told if name == session)
                assert sorted(id for id in seen[session] if id != "end") == acknowledged
            assert store.admin.check() == []
        COUNTS[f"sessions closed while processes append, {self.store_name}"] += CLOSINGS


@contextmanager
def processes(role: str, url: str, rounds: int) -> Iterator[Any]:
    """Start processes that play a role; give what waits for them, and tells what they were told."""
    started = [_start(role, url, number, rounds) for number in range(PROCESSES)]

    def ends() -> list[Any]:
        told = [process.communicate(timeout=600)[0] for process in started]
        assert [process.returncode for process in started] == [0] * PROCESSES
        return [it for own in told for it in json.loads(own)]

    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        yield ends
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _start(role: str, url: str, number: int, rounds: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(ROLES), role, url, str(number), str(rounds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ids_in(store: Store, session: str) -> list[str]:
    return [it.id for it in store.read(ADA, session, Read()).messages_only]


def units_in(url: str) -> int:
    """See that all parts of each unit are there; give the number of the last one."""
    with open_at(url) as store:
        while True:
            record = store.find_session(ADA, SESSION)
            ids = ids_in(store, SESSION)
            values = {it.key: it.value for it in store.list_documents(ADA, session=SESSION)}
            # A server may still be at work for a client that is dead.
            if store.find_session(ADA, SESSION) == record:
                break
    assert record is not None
    last: int = record.attributes.get("n", 0)
    assert ids == [f"m{n}" for n in range(1, last + 1)]
    assert values == ({key: str(last).encode() for key in ("one", "two")} if last else {})
    assert record.version == 1 + last
    return last


def assert_each_in_its_turn(done: list[Any]) -> None:
    """See that who took the lease wrote what follows, until another took it."""
    turns = [(turn, list(units)) for turn, units in groupby(done, lambda it: it[1])]
    assert len({turn for turn, _ in turns}) == len(turns), "a lost lease was written under"
    for _, units in turns:
        assert [kind == "take" for kind, *_ in units] == [True] + [False] * (len(units) - 1)


def assert_is_what_was_done(store: Store, done: list[Any]) -> None:
    """See that the session is as after all that was acknowledged, in that order."""
    appended = [name for kind, _, name, _ in done if kind != "update"]
    assert ids_in(store, SESSION) == [STREAM, *appended]
    updates = [name for kind, _, name, _ in done if kind == "update"]
    [stream] = store.find_messages(ADA, SESSION, [STREAM])
    assert stream is not None
    assert stream.version == 1 + len(updates)
    assert stream.parts == [TextPart(text=updates[-1])]
    log = store.find_document(ADA, "log", session=SESSION)
    assert log is not None
    assert (log.version, log.value.decode()) == (done[-1][3], done[-1][2])


def close(store: Store, session: str) -> list[str]:
    """Close a session while others append; give what is in it right after that."""

    def is_written_to() -> bool:
        record = store.find_session(ADA, session)
        return record is not None and record.messages >= 2 * PROCESSES

    wait_until(is_written_to, timeout_s=300)
    patch = SessionPatch(closed=True)
    if session[-1] in "13579":
        store.append(ADA, session, [say("end")], patch=patch)
        assert ids_in(store, session)[-1] == "end"
    else:
        store.update_session(ADA, session, patch)
    return ids_in(store, session)

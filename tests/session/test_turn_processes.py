"""Turns of a session that real processes share, and that some of them leave by dying."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tier import often

import sapwood
from sapwood.errors import SessionBusyError

from .test_processes import race

PATIENCE_S = 120.0

BEGIN = """
import sys
import sapwood
from sapwood.session._sync import turn_lease

turn_lease.LEASE_S = float(sys.argv[1])
sessions = sapwood.open("sqlite:///turns.db", owner="ada")
chat = sessions.session("chat")


def told(what):
    print(what, flush=True)


"""

HOLD = """
with chat.turn() as turn:
    turn.append("user", "mine")
    told("held")
    sys.stdin.readline()
    turn.complete("assistant", "done")
"""

STREAM = """
with chat.turn() as turn:
    turn.append("user", "mine")
    answer = turn.answer(interval_s=0.01)
    while True:
        if answer.add_text("word "):
            answer.save()
            told("saved")
"""

RACE = """
import sys
import sapwood

with sapwood.open("sqlite:///race.db", owner="ada") as sessions:
    print("ready", flush=True)
    sys.stdin.readline()
    chat = sessions.session("chat")
    for n in range(int(sys.argv[2])):
        with chat.turn() as turn:
            turn.append("user", sys.argv[1])
            answer = turn.answer(interval_s=0)
            for piece in ("a", "b", "c"):
                if answer.add_text(piece):
                    answer.save()
"""


def start(script: str, folder: Path, lease_s: float = 60.0) -> subprocess.Popen[str]:
    """Start a process, and wait until it says that it is so far."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + script, str(lease_s)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() != ""
    return process


def told(chat: sapwood.Session) -> list[tuple[str, str]]:
    found = chat.history().messages_only
    return [(it.text, it.extra["turn"]["state"]) for it in found]


def test_who_comes_second_is_busy_or_waits(tmp_path: Path) -> None:
    holder = start(HOLD, tmp_path)
    with sapwood.open(f"sqlite:///{tmp_path}/turns.db", owner="ada") as sessions:
        chat = sessions.session("chat")
        with pytest.raises(SessionBusyError), chat.turn(wait_s=0.2) as turn:
            turn.append("user", "yours")
        assert holder.stdin is not None
        holder.stdin.write("go\n")
        holder.stdin.flush()
        with chat.turn(wait_s=PATIENCE_S) as turn:
            turn.append("user", "yours")
            turn.complete("assistant", "done, too")
        holder.communicate(timeout=PATIENCE_S)
        assert holder.returncode == 0
        assert [it[0] for it in told(chat)] == ["mine", "done", "yours", "done, too"]
        assert [it.state for it in chat.turns()] == ["complete", "complete"]


@pytest.mark.parametrize("script", [HOLD, STREAM])
def test_a_turn_that_was_killed_is_marked_by_the_next(tmp_path: Path, script: str) -> None:
    killed = start(script, tmp_path, lease_s=1.5)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=PATIENCE_S)
    with sapwood.open(f"sqlite:///{tmp_path}/turns.db", owner="ada") as sessions:
        chat = sessions.session("chat")
        with chat.turn(wait_s=PATIENCE_S) as turn:
            turn.append("user", "yours")
            turn.complete("assistant", "done")
        before, after = told(chat)[:-2], told(chat)[-2:]
        assert before[0][0] == "mine"
        assert before[-1][1] == "interrupted"
        assert after == [("yours", "open"), ("done", "complete")]
        if script == STREAM:
            assert before[-1][0].startswith("word ")
        assert [(it.state, it.reason) for it in chat.turns()] == [
            ("interrupted", "died"),
            ("complete", None),
        ]


def test_another_process_stops_a_turn(tmp_path: Path) -> None:
    stopped = start(STREAM, tmp_path)
    with sapwood.open(f"sqlite:///{tmp_path}/turns.db", owner="ada") as sessions:
        chat = sessions.session("chat")
        assert chat.stop_turn()
        _, errors = stopped.communicate(timeout=PATIENCE_S)
        assert "TurnStoppedError" in errors
        assert told(chat)[-1][1] == "interrupted"
        assert [it.reason for it in chat.turns()] == ["stopped"]
        assert not chat.stop_turn()


def test_turns_of_processes_that_ask_at_once_never_interleave(tmp_path: Path) -> None:
    processes, rounds = 3, often(4, 20)
    race(RACE, processes, rounds, tmp_path)
    with sapwood.open(f"sqlite:///{tmp_path}/race.db", owner="ada") as sessions:
        check_whole(sessions.session("chat"), processes * rounds)


async def test_two_tabs_that_ask_at_once_never_interleave(tmp_path: Path) -> None:
    async with sapwood.open_async(f"sqlite:///{tmp_path}/tabs.db", owner="ada") as sessions:

        async def ask(tab: str) -> None:
            chat = await sessions.session("chat")
            async with chat.turn() as turn:
                await turn.append("user", tab)
                answer = turn.answer(interval_s=0)
                for piece in ("a", "b", "c"):
                    if answer.add_text(piece):
                        await answer.save()
                    await asyncio.sleep(0)

        await asyncio.gather(*(ask(f"tab {n}") for n in range(8)))
    await asyncio.to_thread(check_file, tmp_path / "tabs.db", 8)


def check_file(file: Path, turns: int) -> None:
    with sapwood.open(f"sqlite:///{file}", owner="ada") as sessions:
        check_whole(sessions.session("chat"), turns)


def check_whole(chat: sapwood.Session, turns: int) -> None:
    """Check that each question is followed by its own answer, whole."""
    found = chat.history().messages_only
    assert len(found) == 2 * turns
    for asked, answered in zip(found[::2], found[1::2], strict=True):
        assert (asked.role, answered.role, answered.text) == ("user", "assistant", "abc")
        assert asked.extra["turn"]["id"] == answered.extra["turn"]["id"] == asked.id
        assert answered.extra["turn"]["state"] == "complete"
    assert {it.state for it in chat.turns(limit=1000)} == {"complete"}


async def test_a_turn_that_is_cancelled_is_interrupted_wherever_that_is(tmp_path: Path) -> None:
    async with sapwood.open_async(f"sqlite:///{tmp_path}/cut.db", owner="ada") as sessions:
        chat = await sessions.session("chat")
        for n in range(often(8, 60)):
            await cancel_after(chat, n)
            keys = [it.key for it in await sessions.store.list_documents("ada", session="chat")]
            assert "turn" not in keys, n
            assert "turn-open" not in keys, n
        states = {it.state for it in await chat.turns(limit=1000)}
        assert states <= {"interrupted", "complete"}


async def cancel_after(chat: sapwood.AsyncSession, steps: int) -> None:
    async def take_a_turn() -> None:
        async with chat.turn() as turn:
            await turn.append("user", "q")
            answer = turn.answer(interval_s=0)
            for _ in range(10):
                if answer.add_text("a"):
                    await answer.save()

    task = asyncio.create_task(take_a_turn())
    for _ in range(steps):
        await asyncio.sleep(0)
    if not steps % 2:
        await asyncio.sleep(0.0005 * steps)
    task.cancel()
    await asyncio.wait([task])

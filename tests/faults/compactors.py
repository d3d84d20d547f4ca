"""Processes that compact: one that writes and compacts until it is killed, and several at once.

`python compactors.py` is a nursery, as in `actors.py`. `python compactors.py ROLE PATH NUMBER` is
one process that plays a role, says "ready", and begins when it is told to.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
from pathlib import Path
from typing import Any

import sapwood
from sapwood import SessionManager
from sapwood.compaction import CompactDraft, CompactRequest, create_compact_function
from sapwood.model import Usage
from sapwood.session._sync import compactor
from sapwood.stores.sqlite import SqliteStore

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.actors import Notes, nursery
from faults.support import ADA, clock, new_id

LONG = "a long story about the harbour " * 8
HOUR_US = 3_600_000_000
ROUNDS = 25
APPENDED = 150


def open_sessions(path: str | Path, hours: int = 0, **settings: Any) -> SessionManager:
    """Open the sessions of a file, by a clock that is some hours ahead."""
    store = SqliteStore(path, clock=lambda: clock() + hours * HOUR_US, new_id=new_id)
    return SessionManager(store, owner=ADA, new_id=new_id, **settings)


def summarizer(dice: random.Random) -> Any:
    """Make a compact function whose model takes a moment."""

    def think(prompt: str) -> str:
        time.sleep(dice.choice((0, 0.005, 0.02)))
        return f"It was about the harbour. {dice.random()}"

    return create_compact_function(
        think, protect_head=1, tail_token_budget=100, min_tail_messages=1, timeout_s=None
    )


def live(path: str, notes_path: str, life: int, group: str) -> None:
    """Append, and let the session compact itself, until killed."""
    notes = Notes(notes_path)
    dice = random.Random(life)
    sessions = open_sessions(path, life, compact_with=summarizer(dice), compact_after=500)
    sessions.with_context("memory", default="likes tea")
    chat = sessions.session(group)
    notes.add("open")
    for number in itertools.count():
        ids = [f"{life}.{number}.{index}" for index in range(dice.choice((1, 1, 3)))]
        for id in ids:
            chat.append("user", LONG, id=id)
        notes.add("append", group, ids)
        if dice.random() < 0.1:
            chat.add_usage(Usage(id=ids[-1], message=ids[-1], input_tokens=500))
        if dice.random() < 0.05 and any(not note.undone for note in chat.compactions()):
            chat.undo_compaction()
        chat.prepare()
        if dice.random() < 0.5:
            chat.compact()


def warm_up() -> None:
    """Import what is imported on first use: else, each child would spend its life on that."""
    with sapwood.open("memory://", compact_with=summarizer(random.Random())) as sessions:
        chat = sessions.with_context("memory").session("chat")
        chat.append_all([("user", LONG)] * 8)
        chat.compact()
        chat.prepare()


def compact_often(path: str, number: str) -> None:
    """Compact the same session again and again; say how each went."""
    dice = random.Random(number)
    with open_sessions(path, compact_with=summarizer(dice)) as sessions:
        wait_for_the_word()
        chat = sessions.session("chat")
        for _ in range(ROUNDS):
            outcome = chat.compact()
            say(outcome.status, outcome.reason)


def append_often(path: str, number: str) -> None:
    with open_sessions(path) as sessions:
        wait_for_the_word()
        chat = sessions.session("chat")
        for n in range(APPENDED):
            chat.append("user", LONG, id=f"{number}.{n}")


def think_too_long(path: str, number: str) -> None:
    """Compact with a short lease, which nobody renews while the process is stopped."""
    compactor.LEASE_S = 0.2

    def think(request: CompactRequest) -> CompactDraft:
        wait_for_the_word()
        return CompactDraft(first=request.entries[1], last=request.entries[-2], summary="too late")

    with open_sessions(path, compact_with=think) as sessions:
        outcome = sessions.session("chat").compact()
        say(outcome.status, outcome.reason)


def say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def wait_for_the_word() -> None:
    say("ready")
    sys.stdin.readline()


ROLES = {"compact": compact_often, "append": append_often, "slow": think_too_long}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        ROLES[sys.argv[1]](*sys.argv[2:])
    else:
        warm_up()
        nursery(live)

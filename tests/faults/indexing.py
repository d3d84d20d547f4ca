"""The processes that index, hold an index locked, or may not make one.

`python indexing.py nursery` forks, for each line on its standard input, a child that writes and
indexes until it is killed (see `actors.py`). `crowd`, `hold` and `nobody` are one process each.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import time
from pathlib import Path

import apsw

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.actors import Notes, make_if_absent, nursery
from faults.restricted import give_up_rights
from faults.searched import assert_right, change_some, say_something
from faults.support import ADA, open_store
from sapwood.model import Read
from sapwood.rules.text import fold, segment
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.index import indexer
from sapwood.stores.sqlite.index.file import checksum_vfs
from sapwood.stores.sqlite.index.follower import Follower


def hurry() -> None:
    """Index at once and in small bits, so that there are many moments to be killed at."""
    indexer.REST_S = 0.002
    indexer.SMALL_BATCH = 3
    Follower.step.__defaults__ = (7,)


def live(path: str, notes_path: str, life: int, group: str) -> None:
    """Write bursts of small changes until killed; rest between them, or settle."""
    hurry()
    notes = Notes(notes_path)
    dice = random.Random(life)
    store = open_store(path, durability="normal")
    make_if_absent(store, group)
    notes.add("open")
    for n in itertools.count():
        burst(store, group, f"{life}.{n}", dice)
        if dice.random() < 0.25:
            store.finish_deletions()
        else:
            time.sleep(dice.uniform(0, 0.05))


def burst(store: SqliteStore, session: str, name: str, dice: random.Random) -> None:
    """Append a few messages, singly and several at once, edit some and delete others."""
    ids = [f"{name}.{k}" for k in range(dice.randrange(3, 30))]
    done = 0
    while done < len(ids):
        batch = ids[done : done + dice.choice((1, 1, 1, 4, 12))]
        store.append(ADA, session, [say_something(k, id) for k, id in enumerate(batch, done)])
        done += len(batch)
        if dice.random() < 0.2:
            edited = say_something(done, dice.choice(ids[:done]), edited=True)
            store.update_message(ADA, session, edited)
    store.delete_messages(ADA, session, dice.sample(ids, len(ids) // 3))
    # One that is in the index for long, or was when it was begun anew.
    old = dice.choice(store.read(ADA, session, Read(limit=40)).messages_only)
    store.update_message(ADA, session, say_something(dice.randrange(50), old.id, edited=True))


def crowd(path: str, number: str, count: str) -> None:
    """Write beside other processes, each with an indexer of its own; settle in the end."""
    hurry()
    with open_store(path, durability="normal") as store:
        make_if_absent(store, f"s{number}")
        say("ready")
        sys.stdin.readline()
        for n in range(int(count)):
            start = int(number) * 100_000 + n * 20
            change_some(store, f"s{number}", start, 20, seed=start)
            time.sleep(0.005)
        store.finish_deletions()
    say("done")


def hold(path: str, how: str) -> None:
    """Hold an index until there is a line to read."""
    index = apsw.Connection(path, vfs=checksum_vfs())
    if how == "all of it":
        index.execute("PRAGMA locking_mode = EXCLUSIVE")
        index.execute("PRAGMA journal_mode = DELETE")
    index.execute("BEGIN EXCLUSIVE")
    index.execute("UPDATE state SET value = value")
    say("held")
    sys.stdin.readline()
    index.execute("ROLLBACK")
    index.close()


def nobody(path: str) -> None:
    """Write and search where no index can be made; tell what went wrong."""
    # What is imported when it is first used may lie where nobody can read it.
    segment(fold("部署"))
    give_up_rights()
    told = "ok"
    try:
        with open_store(path) as store:
            assert_right(store, Path(path))
            change_some(store, "s", 10_000, 30)
            assert_right(store, Path(path))
            time.sleep(0.3)
            assert_right(store, Path(path))
    except Exception as error:  # noqa: BLE001  the parent judges it
        told = f"{type(error).__name__}: {error}"
    say(json.dumps([told, sorted(it.name for it in Path(path).parent.iterdir())]))


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    what, *args = sys.argv[1:]
    if what == "nursery":
        nursery(live)
    else:
        {"crowd": crowd, "hold": hold, "nobody": nobody}[what](*args)

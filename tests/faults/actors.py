"""The process that is killed: it writes without end, and notes what it was told.

`python actors.py` is a nursery: it has everything imported, and for each line on its standard input
(a JSON object) it forks a child that opens the store and writes until it is killed; it answers with
the child's number, and on an empty line it buries the child.

Each actor notes an operation after the call returned. One line is one write, so that what is in the
notes was acknowledged.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from sapwood.errors import AlreadyExistsError
from sapwood.model import NewSession
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore
from sapwood.stores.sqlite.connection import Durability

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.support import ADA, open_async_store, open_store, say

SHARED = 2
THREADS = [f"thread{n}" for n in range(3)]
WRITTEN = [*THREADS, *(f"shared-{n}" for n in range(SHARED))]
"""The sessions that are written to and never emptied; each thread has one."""
LIVES_BETWEEN_SETTLES = 4
PADDING = "lorem ipsum " * 20


class Noting(Protocol):
    """Where acknowledgements are noted."""

    def add(self, *what: Any) -> None: ...


class Notes:
    """What was acknowledged, in a file that outlives the process."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def add(self, *what: Any) -> None:
        os.write(self._file, json.dumps(what).encode() + b"\n")


def batch_ids(life: int, actor: str, number: int, size: int) -> list[str]:
    """Name the messages of a batch so that a name tells the whole batch."""
    return [f"{life}.{actor}.{number}.{index}of{size}" for index in range(size)]


def thread_writer(store: SqliteStore, notes: Noting, life: int, name: str, group: str) -> None:
    """Append to a session of its own and to shared ones, singly and in batches."""
    dice = random.Random(f"{life}{name}")
    for number in itertools.count():
        own = dice.random() < 0.3
        session = f"{group}-{name}" if own else f"{group}-shared-{number % SHARED}"
        ids = batch_ids(life, name, number, dice.choice((1, 1, 1, 2, 7)))
        store.append(ADA, session, [say(id, PADDING) for id in ids])
        notes.add("append", session, ids)


async def task_writer(
    store: AsyncSqliteStore, notes: Noting, life: int, name: str, group: str
) -> None:
    """Append as `thread_writer` does, from an event loop."""
    dice = random.Random(f"{life}{name}")
    for number in itertools.count():
        session = f"{group}-shared-{number % SHARED}"
        ids = batch_ids(life, name, number, dice.choice((1, 1, 3)))
        await store.append(ADA, session, [say(id) for id in ids])
        notes.add("append", session, ids)


def deleter(store: SqliteStore, notes: Noting, life: int, group: str) -> None:
    """Fill a session that is deleted, and one that is cleared, again and again."""
    for number in itertools.count():
        for what in ("deleted", "cleared"):
            session = f"{group}-{what}"
            make_if_absent(store, session)
            notes.add("create", session)
            ids = batch_ids(life, what, number, 250)
            store.append(ADA, session, [say(id) for id in ids])
            notes.add("append", session, ids)
            if what == "deleted":
                store.delete_session(ADA, session)
            else:
                store.clear_session(ADA, session)
            notes.add(what, session)
        if life % LIVES_BETWEEN_SETTLES == 0:
            store.finish_deletions()


def make_if_absent(store: SqliteStore, session: str) -> None:
    try:
        store.create_session(ADA, NewSession(id=session))
    except AlreadyExistsError:
        return


def live(path: str, notes_path: str, life: int, group: str, durability: Durability) -> None:
    """Write until killed."""
    notes = Notes(notes_path)
    store = open_store(path, durability=durability)
    for session in WRITTEN:
        make_if_absent(store, f"{group}-{session}")
    notes.add("open")
    for name in THREADS:
        begin(notes, thread_writer, store, notes, life, name, group)
    begin(notes, deleter, store, notes, life, group)
    asyncio.run(live_on_loop(path, notes, life, group, durability=durability))


def begin(notes: Noting, actor: Any, *args: Any) -> None:
    """Let an actor act in a thread; what goes wrong is noted."""

    def act() -> None:
        try:
            actor(*args)
        except BaseException as error:  # noqa: BLE001  the parent reads it
            notes.add("error", repr(error))

    threading.Thread(target=act, daemon=True).start()


async def live_on_loop(path: str, notes: Noting, life: int, group: str, **options: Any) -> None:
    """Write from an event loop until something goes wrong, then raise that."""
    async with open_async_store(path, **options) as store:
        writers = (task_writer(store, notes, life, f"task{n}", group) for n in range(4))
        ends = await asyncio.gather(*writers, return_exceptions=True)
    raise next(it for it in ends if isinstance(it, BaseException))


def live_and_die(actor: Callable[..., None], orders: dict[str, Any]) -> None:
    try:
        actor(**orders)
    except BaseException as error:  # noqa: BLE001  the parent reads it
        Notes(orders["notes_path"]).add("error", repr(error))
    finally:
        os._exit(1)


def nursery(actor: Callable[..., None]) -> None:
    """Fork a child for each line, and bury it on an empty one."""
    child = 0
    for line in sys.stdin:
        if not line.strip():
            os.waitpid(child, 0)
            sys.stdout.write("buried\n")
        else:
            child = os.fork()
            if child == 0:
                live_and_die(actor, json.loads(line))
            sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    nursery(live)

"""Processes that write units of work to the store of a URL: killed, fenced off, or shut out.

`python unit_roles.py nursery URL` is a nursery, as in `actors.py`. `python unit_roles.py ROLE URL
NUMBER ROUNDS` is one process that plays a role: it says "ready", begins when it is told to, and at
its end writes down what it was told.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import sapwood
from sapwood.errors import LeaseLostError, SessionClosedError, StaleVersionError
from sapwood.model import DocumentPut, Fence, SessionPatch
from sapwood.store import Store

if __name__ == "__main__":
    # In place of this folder, which has packages that are called like drivers.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from faults.actors import Notes, nursery
from faults.support import ADA, say

SESSION = "s"
STREAM = "stream"
"""The message that whoever holds the lease rewrites."""
LEASE_S = 0.1
WRITES_IN_A_TURN = 6


def open_at(url: str) -> Store:
    return sapwood.open(url, owner=ADA).store


def put(key: str, value: Any) -> DocumentPut:
    return DocumentPut(key=key, value=str(value).encode())


def live(url: str, path: str, notes_path: str, life: int, group: str) -> None:
    """Append units, numbered on from the last that is there, until killed."""
    notes = Notes(notes_path)
    store = open_at(url)
    record = store.find_session(ADA, group)
    assert record is not None
    for n in itertools.count(record.attributes.get("n", 0) + 1):
        store.append(
            ADA,
            group,
            [say(f"m{n}")],
            documents=[put("one", n), put("two", n)],
            patch=SessionPatch(merge={"n": n}),
        )
        notes.add("append", n)


class Turn:
    """A lease that was taken, and what is written under its fence.

    Every unit puts the document `log`, whose versions tell the order in which they were done.
    """

    def __init__(self, store: Store, name: str, told: list[list[Any]], dice: random.Random) -> None:
        self._store = store
        self._name = name
        self._told = told
        self._dice = dice
        self._fence = self._take()

    def _take(self) -> Fence:
        """Take the lease, which leaves a message: what comes after that is ours.

        Half of the time it is taken from whoever has it, in the middle of what that one writes.
        """
        name, at = f"{self._name}.take", self._dice.choice((0, None))
        lease = DocumentPut(key="lease", value=b"", expected_version=at, expires_in_s=LEASE_S)
        while True:
            try:
                done = self._store.append(
                    ADA, SESSION, [say(name)], documents=[lease, put("log", name)]
                )
            except StaleVersionError:
                time.sleep(0.005)
            else:
                self._told.append(["take", self._name, name, done.documents["log"]])
                return Fence(key="lease", version=done.documents["lease"])

    def play(self) -> None:
        """Write, wait now and then until somebody else has the lease, and write on."""
        waits = self._dice.choice((*range(WRITES_IN_A_TURN), *(None,) * WRITES_IN_A_TURN))
        for n in range(WRITES_IN_A_TURN):
            if n == waits:
                self._wait_until_taken()
            try:
                self._write(n)
            except LeaseLostError:
                self._told.append(["lost", self._name, f"{self._name}.{n}", 0])
                return
            if n == 1:
                self._renew()
        if self._dice.random() < 0.5:
            self._release()

    def _write(self, n: int) -> None:
        name = f"{self._name}.{n}"
        extras: dict[str, Any] = {"documents": [put("log", name)], "fence": self._fence}
        if n % 2:
            updated = self._store.update_message(ADA, SESSION, say(STREAM, name), **extras)
            self._told.append(["update", self._name, name, updated.documents["log"]])
        else:
            done = self._store.append(ADA, SESSION, [say(name)], **extras)
            self._told.append(["append", self._name, name, done.documents["log"]])

    def _renew(self) -> None:
        at = self._fence.version
        with suppress(StaleVersionError):
            self._store.renew_document(
                ADA, "lease", session=SESSION, expected_version=at, expires_in_s=LEASE_S
            )
            self._told.append(["renewed", self._name, "", 0])

    def _release(self) -> None:
        at = self._fence.version
        with suppress(StaleVersionError):
            self._store.delete_document(ADA, "lease", session=SESSION, expected_version=at)

    def _wait_until_taken(self) -> None:
        """Wait for another holder; the last process waits in vain, and still has the lease."""
        deadline = time.monotonic() + 5 * LEASE_S
        while time.monotonic() < deadline:
            found = self._store.find_document(ADA, "lease", session=SESSION)
            if found is not None and found.version != self._fence.version:
                return
            time.sleep(0.005)


def hold(store: Store, number: str, rounds: int) -> list[list[Any]]:
    """Take the lease again and again."""
    dice = random.Random(number)
    told: list[list[Any]] = []
    for n in range(rounds):
        Turn(store, f"{number}.{n}", told, dice).play()
    return told


def append_until_closed(store: Store, number: str, rounds: int) -> list[list[Any]]:
    """Append to one session after the other, to each until it is closed."""
    told: list[list[Any]] = []
    for n in range(rounds):
        session = f"closed-{n}"
        with suppress(SessionClosedError):
            for step in itertools.count():
                ids = [f"{number}.{step}.{part}" for part in range(1 + step % 2)]
                along = [put(ids[0], "")] if step % 3 == 2 else []
                store.append(ADA, session, [say(id) for id in ids], documents=along)
                told += [[session, id] for id in ids]
    return told


ROLES = {"hold": hold, "append": append_until_closed}


def play(role: str, url: str, number: str, rounds: str) -> None:
    with open_at(url) as store:
        store.find_session(ADA, SESSION)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        sys.stdout.write(json.dumps(ROLES[role](store, number, int(rounds))))


def raise_the_living(url: str) -> None:
    """Import what is imported on first use, then let children live."""
    with open_at(url) as store:
        store.find_session(ADA, SESSION)
    nursery(partial(live, url))


if __name__ == "__main__":
    if sys.argv[1] == "nursery":
        raise_the_living(sys.argv[2])
    else:
        play(*sys.argv[1:])

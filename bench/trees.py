"""Databases with branches: one regeneration for each turn, and branches off branches."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from shutil import copyfile

from messages import messages
from world import OWNER, SESSION, World, open_store

from sapwood.model import NewSession
from sapwood.stores.sqlite import SqliteStore

SEGMENTS = 5_000
REGENERATIONS = 9_900
BRANCHES = 100
IN_A_BRANCH = 100


class Regenerating:
    """A conversation in which every answer is made a second time."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._messages = cycle(messages(1_000))
        self._question = ""

    def ask(self) -> None:
        """Append a question and a first answer."""
        turn = [next(self._messages), next(self._messages)]
        self._question = self._store.append(OWNER, SESSION, turn).messages[0].id
        self._again = [next(self._messages)]

    def regenerate(self) -> None:
        """Append another answer to the same question: a branch."""
        self._store.append(OWNER, SESSION, self._again, parent=self._question)


def regenerated(world: World, turns: int) -> Path:
    """Return a database in which so many turns were regenerated; the path goes through them all."""

    def build(world: World, path: Path) -> None:
        shorter = SEGMENTS if turns > SEGMENTS else 0
        if shorter:
            copyfile(regenerated(world, shorter), path)
        with open_store(path, "normal") as store:
            if not shorter:
                store.create_session(OWNER, NewSession(id=SESSION))
            talk = Regenerating(store)
            for _ in range(shorter, turns):
                talk.ask()
                talk.regenerate()

    return world.once(f"regenerated-{turns}", build)


def branched(world: World) -> Path:
    """Return a tree of 100 branches of 100 messages, each from the middle of the one before."""

    def build(_: World, path: Path) -> None:
        with open_store(path, "normal") as store:
            store.create_session(OWNER, NewSession(id=SESSION))
            parent = None
            for _branch in range(BRANCHES):
                batch = list(messages(IN_A_BRANCH))
                added = store.append(OWNER, SESSION, batch, parent=parent).messages
                parent = added[IN_A_BRANCH // 2 - 1].id

    return world.once("branched", build)

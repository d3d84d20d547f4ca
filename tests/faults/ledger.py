"""What must be in the database after a kill, by what was acknowledged before it."""

from __future__ import annotations

from typing import Any, NamedTuple

from sapwood.errors import NotFoundError
from sapwood.stores.sqlite import SqliteStore

from .actors import WRITTEN, batch_ids
from .support import ids_in

Contents = list[str] | None
"""A session's messages; None when there is no such session."""


class Batch(NamedTuple):
    """The messages of one append, as their names tell."""

    life: int
    actor: str
    number: int
    size: int

    @property
    def ids(self) -> list[str]:
        return batch_ids(self.life, self.actor, self.number, self.size)


def batch_of(id: str) -> Batch:
    life, actor, number, place = id.split(".")
    return Batch(int(life), actor, int(number), int(place.partition("of")[2]))


class Ledger:
    """Everything that landed and was seen to, by session."""

    def __init__(self) -> None:
        self.landed: dict[str, list[Batch]] = {}
        self.acknowledged = 0
        self._doomed: dict[str, Contents] = {}

    def check(self, store: SqliteStore, life: int, group: str, notes: list[list[Any]]) -> int:
        """Compare a life's notes with what is stored, then remember that.

        What one writer wrote must be there from its beginning on without a gap, in order, once,
        and with every batch whole. Give the number of acknowledged operations that are lost.
        """
        lost = 0
        for what in ("deleted", "cleared"):
            lost += self._check_doomed(store, life, what, f"{group}-{what}", notes)
        found = self._find_new(store, life, group)
        noted = [note for note in notes if note[0] == "append" and not _is_doomed(note[1])]
        self.acknowledged += len(noted)
        places = {batch_of(note[2][0]): note[1] for note in noted}
        for actor in {it.actor for it in [*places, *found]}:
            lost += _check_actor(actor, places, found)
        return lost

    def check_again(self, store: SqliteStore) -> None:
        """Look once more for everything that ever landed."""
        for session, batches in self.landed.items():
            assert _batches_in(store, session) == batches

    def _find_new(self, store: SqliteStore, life: int, group: str) -> dict[Batch, str]:
        """Find what this life wrote, and where; what was there before must still be there."""
        found: dict[Batch, str] = {}
        for session in (f"{group}-{name}" for name in WRITTEN):
            before = self.landed.get(session, [])
            batches = _batches_in(store, session)
            assert batches[: len(before)] == before, "what was there is not there as it was"
            new = batches[len(before) :]
            assert {it.life for it in new} <= {life}
            _check_order(new)
            found.update(dict.fromkeys(new, session))
            self.landed[session] = batches
        return found

    def _check_doomed(
        self, store: SqliteStore, life: int, what: str, session: str, notes: list[list[Any]]
    ) -> int:
        """Check a session that is filled and emptied: it is as after one of the steps."""
        mine = [note for note in notes if note[0] != "open" and note[1] == session]
        count = sum(note[0] == "append" for note in mine)
        upcoming = _next(mine[-1][0] if mine else what, what, batch_ids(life, what, count, 250))
        states = [self._doomed.get(session)]
        for note in [*mine, upcoming]:
            states.append(_after(states[-1], note))
        found = self._doomed[session] = _contents(store, session)
        assert found in states, "a session is as it never was"
        return 0 if found in states[-2:] else 1


def _check_order(batches: list[Batch]) -> None:
    for actor in {it.actor for it in batches}:
        numbers = [it.number for it in batches if it.actor == actor]
        assert numbers == sorted(set(numbers)), "a writer's order was not kept"


def _check_actor(actor: str, noted: dict[Batch, str], found: dict[Batch, str]) -> int:
    """Check what one writer wrote, over all sessions; give how much of it is lost."""
    there = sorted((it.number, found[it]) for it in found if it.actor == actor)
    told = sorted((it.number, noted[it]) for it in noted if it.actor == actor)
    assert [number for number, _ in there] == list(range(len(there))), "there is a gap"
    # A writer does one thing at a time, so at most its last one is there without a note.
    assert len(there) <= len(told) + 1
    assert there[: len(told)] == told[: len(there)]
    return max(0, len(told) - len(there))


def _is_doomed(session: str) -> bool:
    return session.endswith(("-deleted", "-cleared"))


def _after(contents: Contents, note: list[Any]) -> Contents:
    if note[0] == "deleted":
        return None
    if note[0] == "cleared":
        return []
    return [*(contents or []), *(note[2] if note[0] == "append" else [])]


def _next(last: str, what: str, ids: list[str]) -> list[Any]:
    follow = {what: ["create", ""], "create": ["append", "", ids], "append": [what, ""]}
    return follow[last]


def _contents(store: SqliteStore, session: str) -> Contents:
    try:
        return ids_in(store, session)
    except NotFoundError:
        return None


def _batches_in(store: SqliteStore, session: str) -> list[Batch]:
    """Read a session as batches; each must be whole, together and there once."""
    ids = _contents(store, session) or []
    found = []
    while ids:
        batch = batch_of(ids[0])
        assert ids[: batch.size] == batch.ids, "a batch is not whole"
        del ids[: batch.size]
        found.append(batch)
    assert len(set(found)) == len(found), "a message is there twice"
    return found

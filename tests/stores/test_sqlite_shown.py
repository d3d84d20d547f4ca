"""The sums that are kept at overlays say what a read of the history says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sapwood.model import EntryRef, History, Message, NewMessage, NewOverlay, NewSession, Read
from sapwood.stores.sqlite import SqliteStore
from sapwood.testing.makers import ADA, fork_of, say

STEPS = 60


class Wanderer:
    """Changes sessions of one tree at random."""

    def __init__(self, store: SqliteStore, seed: int) -> None:
        self._store = store
        self._dice = random.Random(seed)
        self._count = 0
        store.create_session(ADA, NewSession(id="s"))
        self.sessions = ["s"]
        self.append()

    def go(self) -> None:
        steps = [self.append, self.branch, self.checkout, self.cover, self.cover, self.undo]
        if self._dice.random() < 0.05:
            steps = [self.fork, self.edit_end, self.pin]
        self._dice.choice(steps)()

    def append(self) -> None:
        self._store.append(ADA, self._session(), [self._new() for _ in range(3)])

    def branch(self) -> None:
        session = self._session()
        self._store.append(ADA, session, [self._new()], parent=self._any_leaf(session))

    def checkout(self) -> None:
        session = self._session()
        self._store.checkout(ADA, session, self._any_leaf(session))

    def cover(self) -> None:
        session = self._session()
        leaf = self._any_leaf(session)
        entries = self._store.read(ADA, session, Read(leaf=leaf)).entries
        first = self._dice.randrange(len(entries))
        last = self._dice.randrange(first, min(first + 4, len(entries)))
        ends = [
            EntryRef(kind="message", id=it.id)
            if isinstance(it, Message)
            else EntryRef(kind="overlay", id=it.overlay.id)
            for it in (entries[first], entries[last])
        ]
        summary = "so " * self._dice.randrange(1, 9)
        new = NewOverlay(first=ends[0], last=ends[1], summary=summary, leaf=leaf)
        self._store.add_overlay(ADA, session, new)

    def undo(self) -> None:
        session = self._session()
        overlays = self._store.list_overlays(ADA, session)
        if overlays:
            self._store.undo_overlay(ADA, session, self._dice.choice(overlays).id)

    def fork(self) -> None:
        session = self._session()
        name = f"f{len(self.sessions)}"
        self._store.create_session(ADA, fork_of(session, self._any_leaf(session), id=name))
        self.sessions.append(name)

    def edit_end(self) -> None:
        """Change a message that nothing follows, which corrects its running sum in place."""
        self._store.append(ADA, "s", [self._new()])
        record = self._store.find_session(ADA, "s")
        assert record is not None
        self._store.update_message(ADA, "s", say(str(record.tip), "changed", tokens=77))

    def pin(self) -> None:
        session = self._session()
        ids = [self._any_leaf(session)] if self._dice.random() < 0.5 else []
        value = str(ids).replace("'", '"').encode()
        self._store.put_document(ADA, "pins", value, session=session)

    def _session(self) -> str:
        return self._dice.choice(self.sessions)

    def _any_leaf(self, session: str) -> str:
        seen = self._store.read(ADA, session, Read(overlays=False)).messages_only
        return self._dice.choice(seen).id

    def _new(self) -> NewMessage:
        self._count += 1
        return say(f"m{self._count}", tokens=self._dice.randrange(1, 20))


@pytest.mark.parametrize("seed", range(12))
def test_the_context_is_the_sum_of_what_is_shown(tmp_path: Path, seed: int) -> None:
    with SqliteStore(tmp_path / "s.db", clock=lambda: 0, new_id=_Ids(), durability="normal") as it:
        wanderer = Wanderer(it, seed)
        for _ in range(STEPS):
            wanderer.go()
            for session in wanderer.sessions:
                history = it.read(ADA, session, Read())
                assert history.context_tokens == _sum_of(history)
        it.finish_deletions()
        assert it.admin.check() == []


def _sum_of(history: History) -> int:
    total = 0
    for entry in history.entries:
        if isinstance(entry, Message):
            total += entry.tokens
        else:
            total += entry.overlay.tokens + sum(message.tokens for message in entry.pinned)
    return total


class _Ids:
    """Gives ids that are counted."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self) -> str:
        self._count += 1
        return f"id-{self._count}"

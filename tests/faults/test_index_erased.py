"""Erased means gone from the index, too: after `finish_deletions()` no file holds the words."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sapwood.model import EntryRef, NewMessage, NewOverlay, NewSession, Search, TextPart
from sapwood.stores.sqlite import SqliteStore

from .searched import assert_right, assert_whole_index, say_something
from .support import ADA, make_session, open_store

WORD = "Zqxjkvbn"
HAN = "黎曼猜想"
SAID = f"They spoke of {WORD}: {HAN}."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with open_store(path, durability="normal") as opened:
        make_session(opened, "s")
        yield opened


def content(file: Path) -> bytes:
    """Read a file; the indexer may have closed its log and taken it away meanwhile."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""


def holds(path: Path) -> list[str]:
    """Give the files that hold a word, however it is written."""
    words = [WORD.lower().encode(), HAN[:2].encode(), HAN[2:].encode()]
    files = [(it.name, content(it).lower()) for it in path.parent.iterdir()]
    return sorted(name for name, data in files if any(word in data for word in words))


def say(id: str, text: str = SAID) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=text)])


def cover(store: SqliteStore, session: str = "s") -> None:
    ends = [EntryRef(kind="message", id=id) for id in ("m1", "m2")]
    store.append(ADA, session, [say_something(1), say_something(2)])
    store.add_overlay(
        ADA, session, NewOverlay(id="o", first=ends[0], last=ends[1], summary=f"About it: {SAID}")
    )


def say_it(store: SqliteStore) -> None:
    store.append(ADA, "s", [say("d1"), say_something(90_000), say("d2")])


def say_it_elsewhere(store: SqliteStore) -> None:
    make_session(store, "doomed")
    store.append(ADA, "doomed", [say("d1"), say("d2")])
    cover(store, "doomed")


def say_it_as_bob(store: SqliteStore) -> None:
    store.create_session("bob", NewSession(id="s"))
    store.append("bob", "s", [say("d1"), say("d2")])


def edit(store: SqliteStore) -> None:
    for id in ("d1", "d2"):
        store.update_message(ADA, "s", say(id, "They spoke of something else."))


def edit_and_repair(store: SqliteStore) -> None:
    edit(store)
    assert store.admin.repair() == []


Way = tuple[Callable[[SqliteStore], object], Callable[[SqliteStore], object]]
WAYS: dict[str, Way] = {
    "deleted": (say_it, lambda store: store.delete_messages(ADA, "s", ["d1", "d2"])),
    "edited": (say_it, edit),
    "edited, and indexed anew": (say_it, edit_and_repair),
    "undone": (cover, lambda store: store.undo_overlay(ADA, "s", "o")),
    "deleted with its session": (
        say_it_elsewhere,
        lambda store: store.delete_session(ADA, "doomed"),
    ),
    "cleared with its session": (
        say_it_elsewhere,
        lambda store: store.clear_session(ADA, "doomed"),
    ),
    "erased with its owner": (say_it_as_bob, lambda store: store.erase_owner("bob")),
}


@pytest.mark.fault
@pytest.mark.parametrize("others", [10, 3_000])
@pytest.mark.parametrize("followed", ["by settle", "by the indexer", "never"])
@pytest.mark.parametrize("way", WAYS)
def test_the_words_are_gone_from_all_files_of_what_was(
    store: SqliteStore, path: Path, way: str, followed: str, others: int
) -> None:
    for start in range(100, 100 + others, 500):
        last = min(start + 500, 100 + others)
        store.append(ADA, "s", [say_something(n) for n in range(start, last)])
    say, erase = WAYS[way]
    say(store)
    if followed == "by settle":
        store.finish_deletions()
        # The indexer's thread may have the log open still.
        assert holds(path) in (["s.db", "s.db-search"], ["s.db", "s.db-search-wal"])
    # In this time the thread indexes what is new, and takes out what is gone.
    rest_s = 0.25 if followed == "by the indexer" else 0
    time.sleep(rest_s)
    erase(store)
    time.sleep(rest_s)
    store.finish_deletions()
    assert holds(path) == []
    assert store.search(ADA, Search(text=WORD)).hits == []
    assert_whole_index(path)
    store.close()
    assert holds(path) == []


@pytest.mark.fault
def test_a_settle_that_has_nothing_to_erase_does_not_write_the_index_anew(
    store: SqliteStore, path: Path
) -> None:
    say_it(store)
    edit(store)
    store.finish_deletions()
    index = path.with_name("s.db-search")
    before = index.stat().st_mtime_ns
    for _ in range(2):
        store.finish_deletions()
    assert index.stat().st_mtime_ns == before


@pytest.mark.fault
@pytest.mark.parametrize("seed", range(3))
def test_no_word_is_left_where_the_index_was_merged_again_and_again(
    store: SqliteStore, path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    alive: dict[str, str] = {}
    gone: list[str] = []
    for n in range(900):
        id, word = f"d{n}", "".join(dice.choices(string.ascii_lowercase, k=12))
        store.append(ADA, "s", [say(id, f"{word} at the {'harbour ' * dice.randrange(9)}")])
        alive[id] = word
        if dice.random() < 0.4:
            id = dice.choice(sorted(alive))
            gone.append(alive.pop(id))
            if dice.random() < 0.5:
                store.delete_messages(ADA, "s", [id])
            else:
                store.update_message(ADA, "s", say(id, "at the lighthouse, edited"))
        if dice.random() < 0.01:
            store.finish_deletions()
    store.finish_deletions()
    index = b"".join(it.read_bytes() for it in path.parent.glob("*-search*"))
    # Words that begin alike are written without what they share.
    assert [word for word in gone if word[4:].encode() in index] == []
    assert all(word[4:].encode() in index for word in alive.values())
    assert_right(store, path)

"""Erased means gone: after `finish_deletions()` no file holds what was deleted or replaced."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.model import (
    EntryRef,
    FilePart,
    ForkPoint,
    NewMessage,
    NewOverlay,
    NewSession,
    SessionPatch,
    TextPart,
    ToolResultPart,
    Usage,
)
from sapwood.stores.sqlite import SqliteStore

from .support import ADA, assert_sound, fill, make_session, open_store, say, writer_of

BOB = "bob"
MARK = "m4rk3r-of-what-is-to-be-forgotten"
SIZES = (40, 900, 5_000, 70_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with open_store(path) as opened:
        make_session(opened, "s")
        yield opened


def holds(path: Path, mark: str) -> list[str]:
    """Give the files beside a database that hold a text."""
    return [name for name, data in contents(path).items() if mark.encode() in data]


def contents(path: Path) -> dict[str, bytes]:
    """Read the files beside a database; the index's log may go while they are listed."""
    found = {}
    for file in path.parent.iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[file.name] = file.read_bytes()
    return found


def marked(id: str, size: int = 40, mark: str = MARK) -> NewMessage:
    """Write a message with a mark in its text, tool result, file and metadata."""
    fill = "x" * size
    parts = [
        TextPart(text=f"{mark} {fill} {mark}"),
        ToolResultPart(call_id="c", output={"o": mark}),
        FilePart(media_type="image/png", data=f"\0\n{mark} {fill} {mark}".encode()),
    ]
    return NewMessage(id=id, role="user", parts=[*parts], metadata={"note": mark})


def surround(store: SqliteStore, session: str, doomed: list[NewMessage]) -> None:
    """Append messages between others, so that they share pages with what stays."""
    for n, message in enumerate(doomed):
        store.append(ADA, session, [say(f"{session}-before-{n}", "y" * 300), message])
    store.append(ADA, session, [say(f"{session}-last")])


def refer(id: str) -> EntryRef:
    return EntryRef(kind="message", id=id)


def assert_forgotten(store: SqliteStore, path: Path, erase: Callable[[], object]) -> None:
    assert holds(path, MARK) != [], "the test looks for the wrong thing"
    erase()
    store.finish_deletions()
    assert holds(path, MARK) == []
    store.close()
    assert holds(path, MARK) == []
    assert_sound(path)


@pytest.mark.parametrize("size", SIZES)
def test_deleted_messages_are_gone_from_the_files(
    store: SqliteStore, path: Path, size: int
) -> None:
    ids = [f"doomed-{n}" for n in range(10)]
    surround(store, "s", [marked(id, size) for id in ids])
    assert_forgotten(store, path, lambda: store.delete_messages(ADA, "s", ids))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("to", [5, 20_000])
def test_replaced_messages_are_gone_from_the_files(
    store: SqliteStore, path: Path, size: int, to: int
) -> None:
    ids = [f"doomed-{n}" for n in range(10)]
    surround(store, "s", [marked(id, size) for id in ids])

    def replace() -> None:
        for id in ids:
            store.update_message(ADA, "s", say(id, "z" * to))

    assert_forgotten(store, path, replace)


@pytest.mark.parametrize("size", SIZES)
def test_a_field_that_was_erased_from_the_data_is_gone_from_the_files(
    store: SqliteStore, path: Path, size: int
) -> None:
    secret = f"{MARK} {'x' * size} {MARK}"
    for n in range(10):
        store.append(ADA, "s", [say(f"d{n}", "y" * 300)], data={"n": n, "secret": secret})
        store.append(ADA, "s", [], data={"n": n, "secret": MARK})
    store.create_session(ADA, NewSession(id="fork", fork=ForkPoint(session="s")))
    assert_forgotten(store, path, lambda: store.erase_data(ADA, "fork", "secret"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("way", ["delete", "clear"])
def test_the_messages_of_a_retired_session_are_gone_from_the_files(
    store: SqliteStore, path: Path, size: int, way: str
) -> None:
    make_session(store, "doomed")
    surround(store, "s", [say("a"), say("b")])
    surround(store, "doomed", [marked(f"d{n}", size) for n in range(20)])
    surround(store, "s", [say("c"), say("d")])
    erase = store.delete_session if way == "delete" else store.clear_session
    assert_forgotten(store, path, lambda: erase(ADA, "doomed"))


def test_messages_that_were_checkpointed_before_are_gone_from_the_files(
    store: SqliteStore, path: Path
) -> None:
    surround(store, "s", [marked("d1"), marked("d2", 9_000)])
    store.finish_deletions()
    assert_forgotten(store, path, lambda: store.delete_messages(ADA, "s", ["d1", "d2"]))


def test_all_that_a_deleted_session_had_is_gone_from_the_files(
    store: SqliteStore, path: Path
) -> None:
    new = NewSession(id="doomed", title=f"t {MARK}", tags=[MARK], attributes={"k": [MARK]})
    store.create_session(ADA, new)
    store.append(ADA, "doomed", [say("m1"), say("m2"), say("m3")])
    overlay = NewOverlay(
        first=refer("m1"), last=refer("m2"), summary=f"it said {MARK}", metadata={"k": MARK}
    )
    store.add_overlay(ADA, "doomed", overlay)
    store.put_document(ADA, "pins", b'["m1"]', session="doomed")
    store.put_document(ADA, "block", MARK.encode() * 100, session="doomed")
    store.add_usage(ADA, "doomed", Usage(id=f"u-{MARK}", model=MARK, message=MARK))
    assert_forgotten(store, path, lambda: store.delete_session(ADA, "doomed"))


def test_a_cleared_sessions_overlays_are_gone_from_the_files(
    store: SqliteStore, path: Path
) -> None:
    store.append(ADA, "s", [say("m1"), say("m2")])
    overlay = NewOverlay(first=refer("m1"), last=refer("m2"), summary=MARK * 50)
    store.add_overlay(ADA, "s", overlay)
    assert_forgotten(store, path, lambda: store.clear_session(ADA, "s"))


def test_an_undone_overlay_that_nobody_has_is_gone_from_the_files(
    store: SqliteStore, path: Path
) -> None:
    store.append(ADA, "s", [say("m1"), say("m2")])
    overlay = NewOverlay(id="o", first=refer("m1"), last=refer("m2"), summary=MARK * 50)
    store.add_overlay(ADA, "s", overlay)
    assert_forgotten(store, path, lambda: store.undo_overlay(ADA, "s", "o"))


def test_the_old_record_of_a_session_is_gone_from_the_files(store: SqliteStore, path: Path) -> None:
    patch = SessionPatch(title=MARK, tags=[MARK], attributes={"k": MARK * 300})
    store.update_session(ADA, "s", patch)
    new = SessionPatch(title="new", tags=[], attributes={})
    assert_forgotten(store, path, lambda: store.update_session(ADA, "s", new))


@pytest.mark.parametrize("session", [None, "s"])
@pytest.mark.parametrize("way", ["replace", "delete"])
def test_an_old_document_is_gone_from_the_files(
    store: SqliteStore, path: Path, session: str | None, way: str
) -> None:
    for n in range(20):
        store.put_document(ADA, f"key-{n}", b"other" * 50, session=session)
    store.put_document(ADA, "key-9", MARK.encode() * 200, session=session)

    def erase() -> None:
        if way == "replace":
            store.put_document(ADA, "key-9", b"new", session=session)
        else:
            store.delete_document(ADA, "key-9", session=session)

    assert_forgotten(store, path, erase)


def test_all_that_an_erased_owner_had_is_gone_from_the_files(
    store: SqliteStore, path: Path
) -> None:
    owner = f"owner-{MARK}"
    store.create_session(owner, NewSession(id=MARK, title=MARK))
    store.append(owner, MARK, [marked(f"id-{MARK}")])
    store.create_session(owner, NewSession(id=f"f-{MARK}", fork=ForkPoint(session=MARK)))
    store.put_document(owner, MARK, MARK.encode())
    store.add_usage(owner, MARK, Usage(id=MARK, model=MARK, message=MARK))
    store.changes(owner, reader=MARK)
    store.append(ADA, "s", [say("of somebody else")])
    assert_forgotten(store, path, lambda: store.erase_owner(owner))


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_left_where_pages_were_split_and_joined(
    store: SqliteStore, path: Path, seed: int
) -> None:
    """Rows that move between pages leave copies behind unless those are overwritten, too."""
    dice = random.Random(seed)
    sessions = [f"s{n}" for n in range(12)]
    for session in sessions:
        make_session(store, session)
    alive: dict[str, str] = {}
    gone: list[str] = []
    for n in range(600):
        session, id = dice.choice(sessions), f"id{n}"
        store.append(ADA, session, [marked(id, dice.choice((5, 200, 1_500, 3_000)), mark_of(id))])
        alive[id] = session
        if dice.random() < 0.4:
            gone += churn(store, dice, alive)
    store.finish_deletions()
    everything = b"".join(contents(path).values())
    assert [id for id in gone if mark_of(id).encode() in everything] == []
    assert all(mark_of(id).encode() in everything for id in alive)


@pytest.mark.parametrize("way", ["one by one", "by their owner"])
def test_nothing_is_left_of_an_owners_documents_where_pages_were_split(
    store: SqliteStore, path: Path, way: str
) -> None:
    dice = random.Random(3)
    gone = [f"k{dice.randrange(10**6)}" for _ in range(600)]
    for key in gone:
        store.put_document(BOB, key, mark_of(key).encode() * dice.randrange(1, 60))
    dice.shuffle(gone)
    with counted_rewritings(store) as rewritings:
        if way == "by their owner":
            store.erase_owner(BOB)
        else:
            for key in gone[:300]:
                store.delete_document(BOB, key)
            del gone[300:]
        store.finish_deletions()
    everything = b"".join(contents(path).values())
    assert [key for key in gone if mark_of(key).encode() in everything] == []
    assert rewritings


def test_nothing_is_left_of_the_data_where_pages_were_split(store: SqliteStore, path: Path) -> None:
    dice = random.Random(3)
    sessions = [f"s{n}" for n in range(6)]
    for session in sessions:
        make_session(store, session)
    secrets = [mark_of(f"k{n}") for n in range(400)]
    for secret in secrets:
        data = {"secret": secret * dice.randrange(1, 60), "kept": "y" * dice.randrange(300)}
        store.append(ADA, dice.choice(sessions), [], data=data)
    store.finish_deletions()
    with counted_rewritings(store) as rewritings:
        for session in sessions:
            store.erase_data(ADA, session, "secret")
        store.finish_deletions()
    everything = b"".join(contents(path).values())
    assert [it for it in secrets if it.encode() in everything] == []
    assert rewritings


@contextlib.contextmanager
def counted_rewritings(store: SqliteStore) -> Iterator[list[None]]:
    """Note how often the file is rewritten."""
    writer, found = writer_of(store), []
    rewrite = writer.rewrite_file
    writer.rewrite_file = lambda: (found.append(None), rewrite())
    yield found
    writer.rewrite_file = rewrite


def test_rows_that_a_sweep_removes_after_the_file_was_rewritten_are_forgotten_the_next_time(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process deletes a session between the sweeping and the rewriting of a settle."""
    fill(store, "s", 400)
    make_session(store, "t")
    fill(store, "t", 400, MARK)
    database: Any = store._runner
    monkeypatch.setattr(database, "sweep_soon", lambda: None)
    with monkeypatch.context() as patch, open_store(path) as other:
        patch.setattr(other._runner, "sweep_soon", lambda: None)
        patch.setattr(database, "_fill_index", lambda: other.delete_session(ADA, "t"))
        store.delete_session(ADA, "s")
        store.finish_deletions()
    with counted_rewritings(store) as rewritings:
        store.finish_deletions()
    assert rewritings
    assert holds(path, MARK) == []


def mark_of(id: str) -> str:
    return f"<mark of {id}>"


def churn(store: SqliteStore, dice: random.Random, alive: dict[str, str]) -> list[str]:
    """Delete a message or replace it by a longer or shorter one; give what was deleted."""
    id = dice.choice(sorted(alive))
    session = alive.pop(id)
    if dice.random() < 0.5:
        store.delete_messages(ADA, session, [id])
        return [id]
    store.update_message(ADA, session, say(id, "z" * dice.choice((1, 500, 6_000))))
    return []

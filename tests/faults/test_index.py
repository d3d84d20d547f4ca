"""Rule 14: whatever happens to the index, writes go on, and searches answer and are right."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tier import FULL

from sapwood.errors import StoreBusyError, StoreError
from sapwood.model import EntryRef, NewOverlay, Search
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.index import indexer
from sapwood.stores.sqlite.index.reader import Question
from sapwood.testing import COUNTS, ManualClock

from .searched import assert_right, assert_whole_index, change_some, say_something
from .support import ADA, make_session, new_id, open_store, raw, value

INDEXING = Path(__file__).with_name("indexing.py")
PAGE = 4096
KEPT = tempfile.TemporaryDirectory(prefix="sapwood-furnished-")
FURNISHED = "furnished.db"
PAGES = (1, 2, 3, 4, 6, 9, -3, -1) if FULL else (1, 4, -1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be indexed but by `finish_deletions`."""
    monkeypatch.setattr(indexer, "REST_S", 3_600)


def index_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-search")


def furnish(path: Path) -> None:
    """Make a database with an index that is up to date."""
    for file in furnished().iterdir():
        shutil.copy(file, path.with_name(file.name.replace(FURNISHED, path.name, 1)))


@cache
def furnished() -> Path:
    """Make it once, in a folder of its own."""
    folder = Path(KEPT.name)
    path = folder / FURNISHED
    with open_store(path, durability="normal") as store:
        for session, start in (("s", 0), ("t", 500)):
            make_session(store, session)
            change_some(store, session, start, 400)
        ends = [EntryRef(kind="message", id=id) for id in ids_in_order(store, "s")[:2]]
        overlay = NewOverlay(id="o", first=ends[0], last=ends[1], summary="of summary harbour")
        store.add_overlay(ADA, "s", overlay)
        store.finish_deletions()
    assert_whole_index(path)
    return folder


def ids_in_order(store: SqliteStore, session: str) -> list[str]:
    hits = store.search(ADA, Search(text="number*", session=session, limit=1_000)).hits
    return [hit.entry.id for hit in sorted(hits, key=lambda hit: hit.position.depth)]


def go_on(store: SqliteStore, path: Path) -> None:
    """Write and search, at once and after the indexer had its try."""
    assert_right(store, path)
    assert_right(store, path, "s")
    change_some(store, "s", 10_000, 20)
    assert_right(store, path)
    time.sleep(0.25)
    change_some(store, "t", 20_000, 20)
    assert_right(store, path)
    assert_right(store, path, "t")


@contextmanager
def nothing_shown(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Iterator[None]:
    """See that nobody is told anything but by the log."""
    with caplog.at_level(logging.WARNING):
        yield
    assert {record.name.partition(".")[0] for record in caplog.records} <= {"sapwood"}
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []
    assert capfd.readouterr() == ("", "")


def overwrite(index: Path, at: int, count: int, byte: int = 0xA5) -> None:
    with index.open("r+b") as file:
        file.seek(at)
        file.write(bytes([byte]) * count)


def overwrite_page(number: int, byte: int = 0xA5) -> Callable[[Path], None]:
    """Overwrite a page, counted from the end if below zero."""

    def damage(index: Path) -> None:
        pages = index.stat().st_size // PAGE
        assert pages > 12
        overwrite(index, (number % pages) * PAGE, PAGE, byte)

    return damage


def overwrite_all(index: Path) -> None:
    overwrite(index, 0, index.stat().st_size, 0)


def overwrite_every_second_page(index: Path) -> None:
    for page in range(1, index.stat().st_size // PAGE, 2):
        overwrite(index, page * PAGE, PAGE, 0xFF)


def cut(keep: Callable[[int], int]) -> Callable[[Path], None]:
    return lambda index: os.truncate(index, keep(index.stat().st_size))


def misspell(index: Path) -> None:
    """Change a word in place, so that all is sound, and the word is not found."""
    found = index.read_bytes()
    assert b"ighthouse" in found
    overwrite(index, found.index(b"ighthouse"), 1, ord("j"))


def remove(index: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        index.with_name(index.name + suffix).unlink(missing_ok=True)


def replace_by_text(index: Path) -> None:
    index.write_text("this is no index\n" * 500)


def replace_by_folder(index: Path) -> None:
    remove(index)
    index.mkdir()
    (index / "a file").touch()


def set_version(number: int) -> Callable[[Path], None]:
    def damage(index: Path) -> None:
        with raw(index) as connection:
            connection.execute(f"PRAGMA user_version = {number}")

    return damage


def make_older(index: Path) -> None:
    """Put tables of another format in the file, of the same names and of others."""
    with raw(index) as connection:
        connection.execute("DROP TABLE words; DROP TABLE entry; DROP TABLE state")
        connection.execute("CREATE TABLE state (key TEXT); CREATE TABLE old (x, y)")
        connection.execute("CREATE TABLE entry (a TEXT); CREATE INDEX by_a ON entry (a)")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        connection.execute("CREATE VIRTUAL TABLE more USING fts5(text, content='')")
        connection.execute("INSERT INTO words VALUES ('lighthouse'); INSERT INTO old VALUES (1, 2)")
        connection.execute("PRAGMA user_version = 0")


def drop_tables(index: Path) -> None:
    with raw(index) as connection:
        connection.execute("DROP TABLE words")


def take_another_databases(index: Path) -> None:
    """Put the index of another database there, in which everything is somewhere else."""
    other = index.with_name("other.db")
    with open_store(other, durability="normal") as store:
        for session in ("x", "s"):
            make_session(store, session)
            store.append(ADA, session, [say_something(n) for n in range(7, 300)])
        store.finish_deletions()
    remove(index)
    shutil.copy(index_of(other), index)


class Damage(NamedTuple):
    """What happens to an index, and whether it is made anew by itself, or at least by a repair."""

    do: Callable[[Path], None]
    heals: bool = False
    can_be_mended: bool = True


DAMAGES = {
    "its head overwritten": Damage(lambda index: overwrite(index, 0, 100)),
    "its schema overwritten": Damage(lambda index: overwrite(index, 100, 900)),
    **{f"page {n} overwritten": Damage(overwrite_page(n)) for n in PAGES},
    "a page zeroed": Damage(overwrite_page(5, 0)),
    "every second page overwritten": Damage(overwrite_every_second_page),
    "zeroed": Damage(overwrite_all),
    "cut in half": Damage(cut(lambda size: size // 2 // PAGE * PAGE)),
    "cut in a page": Damage(cut(lambda size: size - 100)),
    "misspelt": Damage(misspell),
    "cut to a few bytes": Damage(cut(lambda _: 10)),
    "empty": Damage(cut(lambda _: 0), heals=True),
    "text": Damage(replace_by_text),
    "a folder": Damage(replace_by_folder, can_be_mended=False),
    "missing": Damage(remove, heals=True),
    "of an older version": Damage(set_version(0), heals=True),
    "of a newer version": Damage(set_version(99), heals=True),
    "of an older format": Damage(make_older, heals=True),
    "without its words": Damage(drop_tables),
    "another database's": Damage(take_another_databases, heals=True),
}


@pytest.mark.fault
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_search_is_right_with_an_index_that_is(
    path: Path,
    damage: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    furnish(path)
    DAMAGES[damage].do(index_of(path))
    with nothing_shown(caplog, capfd):
        with open_store(path, durability="normal") as store:
            go_on(store, path)
            if not DAMAGES[damage].heals:
                assert {problem.kind for problem in store.admin.check()} == {"index"}
            assert_repaired(store, path, DAMAGES[damage])
        with open_store(path) as store:
            assert_right(store, path)
    COUNTS["indexes damaged"] += 1


@pytest.mark.fault
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_search_is_right_with_an_index_that_becomes_while_it_is_open(
    path: Path,
    damage: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    furnish(path)
    with nothing_shown(caplog, capfd):
        with open_store(path, durability="normal") as store:
            change_some(store, "s", 30_000, 10)
            assert_right(store, path)
            DAMAGES[damage].do(index_of(path))
            go_on(store, path)
        with open_store(path) as store:
            assert_right(store, path)
            # What was in the log may have mended it: there need not be anything to tell.
            assert {problem.kind for problem in store.admin.check()} <= {"index"}
            assert_repaired(store, path, DAMAGES[damage])
    COUNTS["indexes damaged"] += 1


def assert_repaired(store: SqliteStore, path: Path, damage: Damage) -> None:
    """See that the index is whole again, by itself or after a repair."""
    if not damage.can_be_mended:
        with pytest.raises(StoreError, match=r"-search is a folder.*move the folder away"):
            store.admin.repair()
        return
    if not damage.heals:
        assert store.admin.repair() == []
        assert store.admin.check() == []
    assert_healed(store, path)


def assert_healed(store: SqliteStore, path: Path) -> None:
    """See that the index is whole again after `finish_deletions`, and is used."""
    store.finish_deletions()
    assert_right(store, path)
    assert_right(store, path, "s")
    assert_whole_index(path)
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        ask = Question.ask

        def noted(self: Question, *args: Any, **options: Any) -> Any:
            asked.append(self.text)
            return ask(self, *args, **options)

        patch.setattr(Question, "ask", noted)
        assert_right(store, path)
    assert asked


@pytest.mark.fault
def test_a_check_tells_of_an_entry_whose_words_are_missing(path: Path) -> None:
    furnish(path)
    with raw(index_of(path)) as index:
        index.execute("DELETE FROM words WHERE rowid = (SELECT max(number) FROM entry)")
    with open_store(path) as store:
        [problem] = store.admin.check()
        assert problem.kind == "index"
        assert store.admin.repair() == []
        assert_healed(store, path)


@pytest.mark.fault
@pytest.mark.parametrize("how", ["by a writer", "all of it"])
def test_an_index_that_another_process_holds_is_waited_for_by_settle_alone(
    path: Path, how: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    furnish(path)
    with nothing_shown(caplog, capfd), holding(index_of(path), how):
        begun = time.monotonic()
        with open_store(path, durability="normal", patience_s=0.3) as store:
            go_on(store, path)
            with pytest.raises(StoreBusyError):
                store.finish_deletions()
            assert_right(store, path)
        assert time.monotonic() - begun < 20
    with open_store(path) as store:
        assert_right(store, path)
        store.finish_deletions()
        assert_right(store, path)
    assert_whole_index(path)


@contextmanager
def holding(index: Path, how: str) -> Iterator[None]:
    """Let another process hold the index."""
    process = subprocess.Popen(
        [sys.executable, str(INDEXING), "hold", str(index), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield
    finally:
        process.communicate("let go\n")
    assert process.returncode == 0


@pytest.mark.fault
@pytest.mark.parametrize("written_since", [0, 10, 200])
def test_an_index_that_is_ahead_of_a_database_that_was_put_back(
    path: Path, written_since: int, quiet: None
) -> None:
    """The changes that were lost may have been followed by others under the same numbers."""
    furnish(path)
    backup = path.with_name("backup")
    shutil.copy(path, backup)
    with open_store(path, durability="normal") as store:
        change_some(store, "s", 40_000, 100)
        store.update_message(ADA, "t", say_something(3, ids_in_order(store, "t")[0], edited=True))
        store.finish_deletions()
    shutil.copy(backup, path)
    with open_store(path, durability="normal") as store:
        assert_right(store, path)
        for n in range(50_000, 50_000 + written_since):
            store.append(ADA, "s", [say_something(n)])
        assert_right(store, path)
        assert_right(store, path, "s")
        assert_healed(store, path)


@pytest.mark.fault
def test_another_databases_index_that_ends_where_this_feed_was_trimmed(
    tmp_path: Path, quiet: None
) -> None:
    """There is no change left to compare it with: only the database's own number tells."""
    clock = ManualClock()
    paths = [tmp_path / "s.db", tmp_path / "other.db"]
    for path, start in zip(paths, (0, 50), strict=True):
        with SqliteStore(path, clock=clock, new_id=new_id) as store:
            make_session(store, "s")
            for n in range(start, start + 6):
                store.append(ADA, "s", [say_something(n)])
            store.finish_deletions()
    clock.advance(3 * 24 * 3600)
    with SqliteStore(paths[0], clock=clock, new_id=new_id) as store:
        store.append(ADA, "s", [say_something(90)])
        store.finish_deletions()
        feed_begins = value(paths[0], "SELECT value + 1 FROM sequence WHERE name = 'trimmed'")
        assert feed_begins == value(paths[0], "SELECT max(seq) FROM change")
    shutil.copy(index_of(paths[1]), index_of(paths[0]))
    with SqliteStore(paths[0], clock=clock, new_id=new_id) as store:
        assert_right(store, paths[0])
        assert_healed(store, paths[0])


@pytest.mark.fault
def test_an_index_put_back_with_its_database_follows_from_there(path: Path, quiet: None) -> None:
    furnish(path)
    for file in (path, index_of(path)):
        shutil.copy(file, file.with_name(f"{file.name}.old"))
    with open_store(path, durability="normal") as store:
        change_some(store, "s", 40_000, 100)
        store.finish_deletions()
    for file in (path, index_of(path)):
        shutil.copy(file.with_name(f"{file.name}.old"), file)
    with open_store(path, durability="normal") as store:
        change_some(store, "s", 40_050, 100)
        assert_right(store, path)
        assert_healed(store, path)


@pytest.mark.fault
def test_an_index_that_is_behind_by_ten_thousand_messages(path: Path, quiet: None) -> None:
    furnish(path)
    with open_store(path, durability="normal") as store:
        for start in range(100_000, 110_000, 500):
            store.append(ADA, "s", [say_something(n) for n in range(start, start + 500)])
        store.delete_messages(ADA, "s", [f"m{n}" for n in range(100_000, 110_000, 7)])
        assert_right(store, path)
        assert_right(store, path, "t")
        assert_healed(store, path)


@pytest.mark.fault
def test_where_no_index_can_be_made_searches_read_everything(quiet: None) -> None:
    folder = Path(tempfile.mkdtemp(prefix="sapwood-"))
    path = folder / "s.db"
    furnish(path)
    remove(index_of(path))
    try:
        # Another process has it open: its log is there, and none has to be made.
        with open_store(path):
            for file in folder.iterdir():
                file.chmod(0o666)
            folder.chmod(0o555)
            told, files = as_nobody(path)
        assert told == "ok"
        assert "s.db-search" not in files
    finally:
        folder.chmod(0o777)
        shutil.rmtree(folder)


def as_nobody(path: Path) -> tuple[str, list[str]]:
    done = subprocess.run(
        [sys.executable, str(INDEXING), "nobody", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: tuple[str, list[str]] = json.loads(done.stdout)
    return told

"""What is wrong with the index is told by a check, and made right by a repair."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from sapwood.errors import StoreError
from sapwood.model import NewMessage, NewSession, Search, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.index import file as index_file
from sapwood.stores.sqlite.index.file import CHECKSUM_BYTES, checksum_vfs

ADA = "ada"
COUNT = 300


def clock() -> int:
    return time.time_ns() // 1_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def open_store(path: Path) -> SqliteStore:
    return SqliteStore(path, clock=clock, new_id=IdMaker(clock, os.urandom), durability="normal")


@pytest.fixture
def index(path: Path) -> Iterator[Path]:
    """Give the index of a database of some messages, all of them in it."""
    with open_store(path) as store:
        store.create_session(ADA, NewSession(id="s"))
        new = [
            NewMessage(role="user", parts=[TextPart(text=f"apple number {n}")])
            for n in range(COUNT)
        ]
        store.append(ADA, "s", new)
        store.finish_deletions()
        assert store.admin.check() == []
    return Path(f"{path}-search")


def run(index: Path, *statements: str) -> None:
    connection = apsw.Connection(str(index), vfs=checksum_vfs())
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def lose_entries(index: Path) -> None:
    run(
        index,
        "DELETE FROM words WHERE rowid IN (SELECT number FROM entry LIMIT 7)",
        "DELETE FROM entry WHERE number IN (SELECT number FROM entry LIMIT 7)",
    )


def invent_entries(index: Path) -> None:
    run(index, "INSERT INTO entry SELECT number + 1000000, pos + 1000000 FROM entry LIMIT 3")


def overwrite_pages(index: Path) -> None:
    data = bytearray(index.read_bytes())
    data[4096 * 4 : 4096 * 6] = os.urandom(4096 * 2)
    index.write_bytes(data)


def write_text(index: Path) -> None:
    index.write_text("these are no pages of a database " * 500)


DAMAGES: list[Callable[[Path], None]] = [lose_entries, invent_entries, overwrite_pages, write_text]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_index_is_told_and_mended(
    path: Path, index: Path, damage: Callable[[Path], None]
) -> None:
    damage(index)
    with open_store(path) as store:
        problems = store.admin.check()
        assert problems
        assert {problem.kind for problem in problems} == {"index"}
        assert store.admin.repair() == []
        assert store.admin.check() == []
        assert len(store.search(ADA, Search(text="apple", limit=1000)).hits) == COUNT
    run(index, "INSERT INTO words (words) VALUES ('integrity-check')")


def test_an_index_that_is_missing_or_behind_is_no_problem(path: Path, index: Path) -> None:
    index.unlink()
    with open_store(path) as store:
        assert store.admin.check() == []
        assert len(store.search(ADA, Search(text="apple", limit=1000)).hits) == COUNT


def test_a_database_in_use_is_repaired_beside_others(path: Path, index: Path) -> None:
    with open_store(path) as one, open_store(path) as other:
        assert other.search(ADA, Search(text="299")).hits
        write_text(index)
        assert one.admin.repair() == []
        other.append(ADA, "s", [NewMessage(role="user", parts=[TextPart(text="pear")])])
        for store in (one, other):
            assert len(store.search(ADA, Search(text="pear")).hits) == 1
            assert len(store.search(ADA, Search(text="apple", limit=1000)).hits) == COUNT


def test_an_index_whose_making_was_cut_off_is_no_problem(index: Path, tmp_path: Path) -> None:
    """Stopped before it had a log, it has a journal that only a writer can take back."""
    database = Path(str(index).removesuffix("-search"))
    for file in tmp_path.glob("*-search*"):
        file.unlink()
    making = apsw.Connection(str(tmp_path / "making"))
    making.execute("PRAGMA cache_size = 1; CREATE TABLE t (a); BEGIN; CREATE TABLE u (a)")
    making.execute(
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
        " INSERT INTO u SELECT zeroblob(900) FROM n"
    )
    for ending in ("", "-journal"):
        shutil.copy(tmp_path / f"making{ending}", f"{index}{ending}")
    making.close()
    with open_store(database) as store:
        assert store.admin.check() == []
        store.finish_deletions()
        assert store.admin.check() == []
        assert store.search(ADA, Search(text="apple")).hits


def test_an_index_whose_checksums_cannot_be_kept_is_not_written_until_a_repair(
    path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "checksum_vfs", lambda: None)
    with open_store(path) as store:
        store.append(ADA, "s", [NewMessage(role="user", parts=[TextPart(text="pear number 1")])])
        with pytest.raises(StoreError, match="a repair makes it anew"):
            store.finish_deletions()
        assert len(store.search(ADA, Search(text="number", limit=COUNT + 9)).hits) == COUNT + 1
        assert store.admin.repair() == []
        store.finish_deletions()
    assert index.read_bytes()[20] == 0


def test_an_index_of_an_older_format_gets_checksums(
    path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(index_file, "checksum_vfs", lambda: None)
        without.setattr(index_file, "FORMAT", 1)
        with open_store(path) as store:
            store.admin.repair()
    assert index.read_bytes()[20] == 0
    with open_store(path) as store:
        store.finish_deletions()
    assert index.read_bytes()[20] == CHECKSUM_BYTES


def test_an_index_that_was_left_without_checksums_gets_them(
    path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(index_file, "checksum_vfs", lambda: None)
        with open_store(path) as store:
            store.admin.repair()
    assert index.read_bytes()[20] == 0
    with open_store(path) as store:
        store.finish_deletions()
    assert index.read_bytes()[20] == CHECKSUM_BYTES
    with open_store(path) as store:
        assert store.admin.check() == []
        assert len(store.search(ADA, Search(text="apple", limit=COUNT + 9)).hits) == COUNT

"""What is not ours, or newer than we are, is refused and not touched; damage is named."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from sapwood.errors import SchemaError, SchemaTooNewError, StoreCorruptError, StoreError
from sapwood.model import Read
from sapwood.stores.sqlite import SqliteStore

from .support import ADA, fill, make_session, open_store, raw, say


def some_database(path: Path) -> bytes:
    """Make a store's file with a few pages, and give its bytes."""
    with open_store(path) as store:
        make_session(store, "s")
        fill(store, "s", 500)
    return path.read_bytes()


def contents(folder: Path) -> dict[str, bytes]:
    """Give what the files hold; the log's index is derived, and an empty log holds nothing."""
    files = {it.name: it.read_bytes() for it in folder.iterdir() if it.suffix != ".db-shm"}
    return {name: data for name, data in files.items() if data}


def refuse(path: Path, error: type[StoreError] | tuple[type[StoreError], ...]) -> StoreError:
    """Open what must not be opened, see that nothing was touched, and give the error."""
    before = contents(path.parent)
    with pytest.raises(error) as caught:
        open_store(path)
    assert str(path) in str(caught.value)
    assert contents(path.parent) == before
    return caught.value


GARBAGE: dict[str, Callable[[bytes], bytes]] = {
    "text": lambda _: b"Dear diary, this is no database.\n" * 100,
    "short text": lambda _: b"hello",
    "truncated header": lambda data: data[:50],
    "garbage": lambda _: random.Random(1).randbytes(20_000),
    "garbage after the header": lambda data: data[:100] + random.Random(1).randbytes(20_000),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_a_file_that_is_no_database_is_refused_and_not_touched(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    path = folder / "s.db"
    path.write_bytes(GARBAGE[kind](some_database(tmp_path / "whole.db")))
    refuse(path, (StoreCorruptError, SchemaError))


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)",
        "CREATE TABLE theirs (x); PRAGMA user_version = 7",
        "PRAGMA application_id = 42; PRAGMA user_version = 1; CREATE TABLE theirs (x)",
    ],
)
def test_a_database_of_another_program_is_refused_and_not_touched(
    sql: str, journal: str, tmp_path: Path
) -> None:
    path = tmp_path / "theirs.db"
    with raw(path) as connection:
        connection.pragma("journal_mode", journal)
        connection.execute(sql)
    assert "another program" in str(refuse(path, SchemaError))


def test_a_newer_schema_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    some_database(path)
    with raw(path) as connection:
        connection.pragma("user_version", 99)
    error = refuse(path, SchemaTooNewError)
    assert "99" in str(error)
    assert "upgrade" in str(error)


def test_a_newer_schema_in_use_by_its_own_version_is_refused_and_not_touched(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.db"
    some_database(path)
    with raw(path) as connection:
        connection.pragma("user_version", 99)
        connection.execute("CREATE TABLE newer (x); INSERT INTO newer VALUES (1)")
        refuse(path, SchemaTooNewError)


def test_a_database_cut_short_is_damaged_and_not_touched(tmp_path: Path) -> None:
    whole = some_database(tmp_path / "whole.db")
    folder = tmp_path / "here"
    folder.mkdir()
    path = folder / "s.db"
    path.write_bytes(whole[: len(whole) // 2 // 4096 * 4096])
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError):
        read_everything(path)
    assert path.read_bytes() == before


def read_everything(path: Path) -> None:
    with open_store(path) as store:
        store.read(ADA, "s", Read())


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    with open_store(path) as store:
        make_session(store, "s")
        assert store.admin.check() == []


class TestAnUndecodableBody:
    """Rule 8: a row that cannot be decoded is an error with its id, never skipped."""

    BODIES = [b"", b"{", b"not json", b"\xff\xfe", b"[]", b'{"parts": 1}', b"null"]

    @pytest.fixture(params=BODIES, ids=repr)
    def store(self, tmp_path: Path, request: pytest.FixtureRequest) -> SqliteStore:
        path = tmp_path / "s.db"
        with open_store(path) as whole:
            make_session(whole, "s")
            whole.append(ADA, "s", [say(id) for id in ("good-1", "bad-one", "good-2")])
        with raw(path) as connection:
            connection.execute("UPDATE message SET body = ? WHERE id = 'bad-one'", (request.param,))
        return open_store(path)

    @pytest.mark.parametrize(
        "read",
        [
            lambda store: store.read(ADA, "s", Read()),
            lambda store: store.read(ADA, "s", Read(limit=2)),
            lambda store: store.read(ADA, "s", Read(limit=2, backwards=True)),
            lambda store: store.find_messages(ADA, "s", ["good-1", "bad-one"]),
            lambda store: store.list_children(ADA, "s", "good-1"),
            lambda store: store.append(ADA, "s", [say("bad-one")]),
        ],
        ids=["read", "first", "last", "find", "children", "append again"],
    )
    def test_is_named_by_every_read(
        self, store: SqliteStore, read: Callable[[SqliteStore], object]
    ) -> None:
        with store, pytest.raises(StoreCorruptError, match="bad-one"):
            read(store)

    def test_is_found_by_check(self, store: SqliteStore) -> None:
        with store:
            assert [it.where for it in store.admin.check()] == ["bad-one"]

    def test_does_not_stop_an_append(self, store: SqliteStore) -> None:
        with store:
            assert store.append(ADA, "s", [say("new")]).tip == "new"


def test_a_damaged_page_is_told_and_never_an_empty_history(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    data = bytearray(some_database(path))
    with raw(path) as connection:
        pages = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = 'message' AND pagetype = 'leaf'"
        ).fetchall()
        size = connection.pragma("page_size")
    length = len(data)
    for (page,) in pages:
        data[(page - 1) * size : page * size] = bytes(size)
    assert (len(pages) > 1, len(data)) == (True, length)
    path.write_bytes(data)
    with open_store(path) as store:
        with pytest.raises(StoreCorruptError):
            store.read(ADA, "s", Read())
        assert store.admin.check() != []


def test_the_drivers_error_is_the_cause(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"no database at all" * 100)
    assert isinstance(refuse(path, StoreCorruptError).__cause__, apsw.NotADBError)

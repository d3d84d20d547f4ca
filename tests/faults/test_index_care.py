"""The index harms nobody: not a fork, not an erasure, not another owner, not the thread itself."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from sapwood.errors import StoreError
from sapwood.model import NewMessage, NewSession, Search, TextPart
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.index import indexer

from .support import ADA, make_session, open_store, raw, say


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def index_of(path: Path) -> Path:
    return Path(f"{path}-search")


def long_texts(count: int) -> list[NewMessage]:
    text = " ".join(f"word{n}" for n in range(1_500))
    return [NewMessage(role="user", parts=[TextPart(text=f"{n} {text}")]) for n in range(count)]


@pytest.mark.fault
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_is_forked_beside_the_indexer_can_open_the_store(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        for number in range(12):
            store.append(ADA, "s", long_texts(150))
            time.sleep(0.13 + 0.01 * number)
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                with open_store(path) as again:
                    found = again.search(ADA, Search(text="word7", limit=1)).hits
                os._exit(0 if found else 1)
            assert os.waitpid(child, 0)[1] == 0


def test_a_damaged_index_does_not_keep_the_database_from_erasing(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        store.append(ADA, "s", [say("m1", "sesame"), say("m2", "other")])
        store.finish_deletions()
    index_of(path).write_text("no database " * 1_000)
    with open_store(path) as store:
        store.delete_messages(ADA, "s", ["m1"])
        with pytest.raises(StoreError, match="search"):
            store.finish_deletions()
        held = [it.name for it in path.parent.iterdir() if b"sesame" in it.read_bytes()]
        assert held == []
        assert store.admin.repair() == []
        store.finish_deletions()


def test_an_indexer_that_failed_goes_on_at_the_next_change(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    open_index = indexer.open_index_writer
    failures = [FileNotFoundError("made anew")]

    def fail_once(*args: object) -> object:
        if failures:
            raise failures.pop()
        return open_index(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(indexer, "open_index_writer", fail_once)
    monkeypatch.setattr(indexer, "RETRY_S", 0.01)
    with open_store(path) as store:
        make_session(store, "s")
        deadline = time.monotonic() + 20
        while not index_of(path).exists():
            store.append(ADA, "s", [say(None)])
            time.sleep(0.05)
            assert time.monotonic() < deadline
    assert not failures


def test_erasing_an_owner_leaves_the_index_to_the_others(path: Path) -> None:
    with open_store(path) as store:
        make_session(store, "s")
        store.append(ADA, "s", [say("m1", "lighthouse")])
        store.create_session("zed", NewSession(id="s"))
        store.append("zed", "s", [say("z1", "lighthouse")])
        store.finish_deletions()
        store.erase_owner("zed")
        assert is_followed(store)
        store.finish_deletions()
        [hit] = store.search(ADA, Search(text="lighthouse")).hits
        assert hit.entry.id == "m1"
        assert store.search("zed", Search(text="lighthouse")).hits == []


def is_followed(store: SqliteStore) -> bool:
    """Tell whether the index has kept its place in the feed."""
    from sapwood.stores.sqlite.index.file import read_place

    database = store._runner
    tx = database._open_reader()  # type: ignore[attr-defined]
    index = indexer.open_index_reader(database._index_path, tx.clock, 1.0)  # type: ignore[attr-defined]
    assert index is not None
    try:
        return read_place(index, tx) is not None
    finally:
        index.close()
        tx.close()


def test_the_log_of_the_index_is_copied_back_before_it_is_closed(path: Path) -> None:
    # Closing the last connection would do it, too, and keep all threads of Python waiting.
    alone = path.with_name("without-its-log.db")
    with open_store(path) as store:
        make_session(store, "s")
        store.append(ADA, "s", [say("m1")])
        store.finish_deletions()
        with raw(index_of(path)) as watcher:
            watcher.execute("SELECT count(*) FROM entry").fetchall()  # so that it is not the last
            store.append(ADA, "s", [say("m2")])
            store.finish_deletions()
            alone.write_bytes(index_of(path).read_bytes())
    with raw(alone) as copied:
        assert copied.execute("SELECT count(*) FROM entry").fetchall() == [(2,)]

"""A file that is deleted or replaced under an open store takes nothing that nobody will see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from sapwood.errors import StoreError
from sapwood.stores.sqlite import SqliteStore, database

from .support import ADA, ids_in, make_session, open_async_store, open_store, say


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    other = path.with_name("other.db")
    with open_store(other) as store:
        make_session(store, "s")
        store.append(ADA, "s", [say("of the other")])
    other.replace(path)


pytestmark = [
    pytest.mark.fault,
    pytest.mark.parametrize("change", [delete, replace]),
]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    # Left open: a database whose file is gone has no log to copy back.
    monkeypatch.setattr(database, "LOOK_EVERY_S", 0.0)
    opened = open_store(tmp_path / "s.db")
    make_session(opened, "s")
    opened.append(ADA, "s", [say("m1")])
    return opened


def test_a_write_is_refused(
    store: SqliteStore, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(tmp_path / "s.db")
    for _ in range(2):
        with pytest.raises(StoreError, match="was deleted or replaced") as told:
            store.append(ADA, "s", [say("m2")])
        assert not told.value.retryable
    store.close()


def test_a_connection_that_is_opened_later_does_not_read_another_file(
    store: SqliteStore, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(tmp_path / "s.db")
    with pytest.raises(StoreError):
        ids_in(store, "s")
    store.close()


async def test_tasks_are_told_as_well(
    store: SqliteStore, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    store.close()
    again = open_async_store(tmp_path / "s.db")
    change(tmp_path / "s.db")
    outcomes = await asyncio.gather(
        *(again.append(ADA, "s", [say(f"n{n}")]) for n in range(5)), return_exceptions=True
    )
    assert all("was deleted or replaced" in str(outcome) for outcome in outcomes)
    await again.aclose()

"""What is damaged is told by the read that meets it, and by no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from sapwood.errors import StoreCorruptError
from sapwood.model import EntryRef, ForkPoint, Message, NewOverlay, NewSession, Read
from sapwood.stores.sqlite import SqliteStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say

MESSAGES = 40


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    clock = ManualClock()
    ids = iter(range(1_000_000))
    path = tmp_path / "agent.db"
    with SqliteStore(path, clock=clock, new_id=lambda: f"id-{next(ids)}") as store:
        store.create_session(ADA, NewSession(id="s"))
        for number in range(1, MESSAGES + 1):
            store.append(ADA, "s", [say(f"m{number}")])
        yield store


def change(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (Read(limit=10, backwards=True), 10),
        (Read(limit=29), 29),
        (Read(max_bytes=200, backwards=True), None),
        (Read(max_bytes=10_000, limit=3, backwards=True), 3),
    ],
)
def test_a_message_that_is_damaged_outside_the_window_does_not_stop_the_read(
    store: SqliteStore, tmp_path: Path, query: Read, count: int | None
) -> None:
    change(tmp_path / "agent.db", "UPDATE message SET tokens = tokens + 1 WHERE id = 'm30'")

    shown = store.read(ADA, "s", query)

    assert shown.more
    assert count is None or len(shown.entries) == count
    with pytest.raises(StoreCorruptError, match="m30"):
        store.read(ADA, "s", Read())


def test_a_limit_in_bytes_keeps_the_limit_in_messages(store: SqliteStore) -> None:
    for backwards in (False, True):
        shown = store.read(ADA, "s", Read(max_bytes=1_000_000, limit=20, backwards=backwards))

        depths = [it.depth for it in shown.entries if isinstance(it, Message)]
        assert depths == list(range(21, 41) if backwards else range(1, 21))
        assert shown.more


def test_a_copy_is_not_made_without_an_overlay_that_is_missing(
    store: SqliteStore, tmp_path: Path
) -> None:
    ends = [EntryRef(kind="message", id=id) for id in ("m2", "m5")]
    store.add_overlay(ADA, "s", NewOverlay(first=ends[0], last=ends[1], summary="so"))
    change(tmp_path / "agent.db", "DELETE FROM overlay")

    point = ForkPoint(session="s", detach=True)
    with pytest.raises(StoreCorruptError, match="an overlay of session 's' is missing"):
        store.create_session(ADA, NewSession(id="copy", fork=point))

"""Rule 4 for listings: previews and what is unread cost what is shown, and not the histories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import apsw
import pytest

from sapwood.model import NewMessage, NewSession, SessionPage, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.store._sync.reading import look_into, mark_read
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.database import Database

from .counting import ADA, grow, say, steps

ONE_SECOND = 1_700_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    new_id = IdMaker(lambda: ONE_SECOND, os.urandom)
    path = tmp_path / "s.db"
    with SqliteStore(path, clock=lambda: ONE_SECOND, new_id=new_id, durability="normal") as opened:
        yield opened


def test_rule_04_the_ends_of_paths_cost_the_same_under_long_histories(store: SqliteStore) -> None:
    for name, count in (("short", 40), ("long", 10_000)):
        for n in range(5):
            grow(store, f"{name}-{n}", count)
            mark_read(store, ADA, f"{name}-{n}", "bob", upto=f"{name}-{n}-3")
    for name, turns in (("few", 40), ("many", 400)):
        grow(store, name, 1)
        for n in range(turns):
            asked = store.append(ADA, name, [say(f"{name}-asked-{n}")]).messages[0].id
            store.append(ADA, name, [say()])
            store.append(ADA, name, [say()], parent=asked)

    def cost(names: list[str]) -> int:
        found = [store.find_session(ADA, it) for it in names]
        page = SessionPage(sessions=[it for it in found if it is not None], cursor=None)
        return steps(store, partial(look_into, store, ADA, page, previews=True, unread_for="bob"))

    short, long = ([f"{name}-{n}" for n in range(5)] for name in ("short", "long"))
    assert 0 < cost(long) <= cost(short) * 1.02
    assert 0 < cost(["many"]) <= cost(["few"]) * 1.02


def test_the_ends_of_a_page_are_found_by_one_statement(store: SqliteStore) -> None:
    for n in range(30):
        grow(store, f"s-{n}", 50)
        mark_read(store, ADA, f"s-{n}", "bob")
    database = store._runner
    assert isinstance(database, Database)
    seen: list[str] = []

    def note(_: object, text: str, __: object) -> bool:
        seen.append(text)
        return True

    for unit in database._readers._free:
        unit.tx.raw.exec_trace = note
    found = store.find_recent(ADA, [f"s-{n}" for n in range(30)], document="read/bob")
    assert all(it is not None and it.document is not None for it in found)
    assert len(seen) == 1


def test_the_body_of_what_is_not_shown_is_not_read(store: SqliteStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    large = "x" * 1_000_000
    tools = [NewMessage(role="tool", parts=[TextPart(text=large)]) for _ in range(20)]
    store.append(ADA, "s", [say("asked"), *tools])
    database = store._runner
    assert isinstance(database, Database)
    store.find_session(ADA, "s")
    [unit, *_] = database._readers._free
    before = unit.tx.raw.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
    [recent] = store.find_recent(ADA, ["s"])
    assert recent is not None
    assert [it.id for it in recent.messages] == ["asked"]
    assert unit.tx.raw.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] - before < 100

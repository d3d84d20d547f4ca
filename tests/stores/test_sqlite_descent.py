"""The links by which a fork finds ids on its path last as long as a path leads through them."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from sapwood.model import NewSession
from sapwood.stores.sqlite import SqliteStore
from sapwood.testing.makers import ADA, fork_of, say


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


def links(path: Path) -> int:
    with apsw.Connection(str(path)) as raw:
        found: int = raw.execute("SELECT count(*) FROM descent").get
    return found


def test_a_link_goes_with_the_last_session_whose_path_leads_through_it(path: Path) -> None:
    with SqliteStore(path, clock=lambda: 0, new_id=str, durability="normal") as store:
        store.create_session(ADA, NewSession(id="0"))
        store.append(ADA, "0", [say("m0")])
        for n in range(1, 4):
            store.create_session(ADA, fork_of(f"{n - 1}", id=f"{n}"))
            store.append(ADA, f"{n}", [say(f"m{n}")])
        store.create_session(ADA, fork_of("3", id="4"))
        assert links(path) == 4
        for n in (1, 2, 3):
            store.delete_session(ADA, f"{n}")
            assert links(path) == 4
            assert store.append(ADA, "4", [say("m0")]).written == 0
        store.clear_session(ADA, "4")
        assert links(path) == 0
        assert store.admin.check() == []


def test_a_link_stays_while_another_fork_stands_on_its_session(path: Path) -> None:
    with SqliteStore(path, clock=lambda: 0, new_id=str, durability="normal") as store:
        store.create_session(ADA, NewSession(id="0"))
        store.append(ADA, "0", [say("m0")])
        store.create_session(ADA, fork_of("0", id="1"))
        store.append(ADA, "1", [say("m1")])
        for name in ("a", "b"):
            store.create_session(ADA, fork_of("1", id=name))
        for name, left in (("1", 3), ("a", 2), ("b", 0)):
            store.delete_session(ADA, name)
            assert links(path) == left

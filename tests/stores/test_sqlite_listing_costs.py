"""Listings cost what they find: other sessions, kinds, states and owners add nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.model import NewSession, SessionPatch, SessionQuery, datetime_of
from sapwood.rules.ids import IdMaker
from sapwood.stores.relational._sync import listing
from sapwood.stores.sqlite import SqliteStore

from .counting import ADA, steps

ONE_SECOND = 1_700_000_000_000_000
LATER = datetime_of(ONE_SECOND + 60_000_000)
PAGE = 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    new_id = IdMaker(lambda: ONE_SECOND, os.urandom)
    path = tmp_path / "s.db"
    with SqliteStore(path, clock=lambda: ONE_SECOND, new_id=new_id, durability="normal") as opened:
        yield opened


def make(store: SqliteStore, id: str, owner: str = ADA, **fields: Any) -> None:
    store.create_session(owner, NewSession(id=id, **fields))


FOUND: dict[str, dict[str, Any]] = {
    "tag": {"tags": ["all", "found"]},
    "title": {"title": "found it", "tags": ["all"]},
    "state": {"state": "found"},
    "kind": {"kind": "found"},
}
ASKED: dict[str, dict[str, Any]] = {
    "tag": {"tags": ["found"]},
    "tags": {"tags": ["found", "all"]},
    "title": {"title_prefix": "found"},
    "state": {"state": "found"},
    "any state": {"state": "found", "kind": None},
    "kind": {"kind": "found"},
}


@pytest.mark.parametrize("order", ["active", "created", "updated"])
@pytest.mark.parametrize("by", ASKED)
def test_a_look_up_costs_what_it_finds(store: SqliteStore, by: str, order: Any) -> None:
    for n in range(5):
        fields = FOUND[{"tags": "tag", "any state": "state"}.get(by, by)]
        make(store, f"found-{n}", **fields)
        make(store, f"found-{n}", "bob", **fields)
    costs = []
    for count in (100, 1_100):
        for n in range(count):
            make(store, f"other-{count}-{n}", title="other", tags=["other"])
        for reverse in (False, True):
            query = SessionQuery(order=order, reverse=reverse, **ASKED[by])
            listed = [it.id for it in store.list_sessions(ADA, query).sessions]
            assert sorted(listed, reverse=not reverse) == listed
            assert len(listed) == 5
            costs.append(steps(store, lambda query=query: store.list_sessions(ADA, query)))
    assert 0 < max(costs) <= min(costs) * 1.1


def test_what_finds_too_many_goes_by_the_order_until_the_page_is_full(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "FEW", 50)
    costs = []
    for count in (400, 4_000):
        for n in range(count):
            make(store, f"{count}-{n}", tags=["all"], title="t", state="same")
        for asked in ({"tags": ["all"]}, {"title_prefix": "t"}, {"state": "same"}):
            query = SessionQuery(limit=PAGE, **asked)
            assert len(store.list_sessions(ADA, query).sessions) == PAGE
            costs.append(steps(store, lambda query=query: store.list_sessions(ADA, query)))
    assert 0 < max(costs) <= min(costs) * 1.2


@pytest.mark.parametrize("state", ["open", None])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_page_of_all_owners_costs_the_same_whatever_lies_beside_it(
    store: SqliteStore, state: str | None, reverse: bool
) -> None:
    query = SessionQuery(limit=PAGE, state=state, active_from=LATER, reverse=reverse)

    def found(from_owner: int) -> int:
        for n in range(from_owner, from_owner + 300):
            for m in range(2):
                make(store, f"s{m}", f"owner-{n}", state="open")
                make(store, f"f{m}", f"owner-{n}", state="open", kind="facts")
        pages, asked = [], query
        while True:
            page = store.admin.list_sessions(asked)
            pages.append(steps(store, lambda asked=asked: store.admin.list_sessions(asked)))
            if page.cursor is None:
                break
            asked = SessionQuery(
                limit=PAGE, state=state, active_from=LATER, reverse=reverse, cursor=page.cursor
            )
        assert len(pages) == 3
        return max(pages)

    for n in range(3 * PAGE):
        make(store, f"later-{n}", f"owner-{n}", state="open")
        patch = SessionPatch(active_us=ONE_SECOND + 60_000_000 + n // 7 * 1_000_000)
        store.update_session(f"owner-{n}", f"later-{n}", patch)
    few = found(0)
    assert 0 < found(300) <= few * 1.1

"""Rules 3 and 4: what a call costs does not grow with what lies beside or under it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest
from msgspec.structs import replace

from sapwood.model import (
    EntryRef,
    ForkPoint,
    NewOverlay,
    NewSession,
    Read,
    SessionQuery,
    SystemFields,
    Usage,
)
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.database import Database
from sapwood.testing.makers import ids_told

from .counting import ADA, cover, grow, say, steps

ONE_SECOND = 1_700_000_000_000_000
PAGE = 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    new_id = IdMaker(lambda: ONE_SECOND, os.urandom)
    path = tmp_path / "s.db"
    with SqliteStore(path, clock=lambda: ONE_SECOND, new_id=new_id, durability="normal") as opened:
        yield opened


def test_rule_03_an_append_costs_the_same_in_a_long_history(store: SqliteStore) -> None:
    grow(store, "short", 100)
    grow(store, "long", 20_000)
    short = steps(store, lambda: store.append(ADA, "short", [say()]))
    assert steps(store, lambda: store.append(ADA, "long", [say()])) == short > 0


def test_rule_03_a_clients_id_costs_the_same_in_a_long_history(store: SqliteStore) -> None:
    ids = iter(range(100))
    grow(store, "short", 100)
    grow(store, "long", 20_000)
    short = steps(store, lambda: store.append(ADA, "short", [say(f"new-{next(ids)}")]))
    assert steps(store, lambda: store.append(ADA, "long", [say(f"new-{next(ids)}")])) == short


def test_rule_03_an_append_costs_the_same_among_many_sessions(store: SqliteStore) -> None:
    grow(store, "s", 10)
    alone = steps(store, lambda: store.append(ADA, "s", [say()]))
    for n in range(500):
        grow(store, f"other-{n}", 1)
    assert steps(store, lambda: store.append(ADA, "s", [say()])) == alone


def test_a_batch_that_fits_the_cache_of_a_new_file_is_written_with_its_commit(
    store: SqliteStore,
) -> None:
    grow(store, "s", 700, "x" * 1_800)
    database = store._runner
    assert isinstance(database, Database)
    assert database._writer.unit.tx.raw.status(apsw.SQLITE_DBSTATUS_CACHE_SPILL)[0] == 0


def test_rule_03_a_branch_costs_the_same_after_many_branches(store: SqliteStore) -> None:
    grow(store, "s", 2)

    def regenerate() -> None:
        tip = store.append(ADA, "s", [say()]).messages[0].id
        store.append(ADA, "s", [say()])
        store.append(ADA, "s", [say()], parent=tip)

    first = steps(store, regenerate)
    for _ in range(400):
        regenerate()
    assert steps(store, regenerate) <= first * 1.2


def regenerate(store: SqliteStore, session: str, turns: int) -> None:
    grow(store, session, 1)
    for n in range(turns):
        asked = store.append(ADA, session, [say(f"{session}-asked-{n}")]).messages[0].id
        store.append(ADA, session, [say()])
        store.append(ADA, session, [say(f"{session}-answer-{n}")], parent=asked)


def test_rule_03_a_checkout_and_a_fork_cost_the_same_on_a_path_of_many_branches(
    store: SqliteStore,
) -> None:
    forks = iter(range(100))

    def cost(turns: int) -> tuple[int, int]:
        name = f"s-{turns}"
        regenerate(store, name, turns)
        place = f"{name}-answer-{turns - 2}"
        moved = steps(store, lambda: store.checkout(ADA, name, place))
        return moved, steps(store, lambda: fork(store, f"fork-{next(forks)}", name, place))

    assert cost(200) == cost(20)


def test_rule_03_an_update_while_it_streams_costs_the_same_under_an_overlay(
    store: SqliteStore,
) -> None:
    def cost(turns: int) -> int:
        name = f"s-{turns}"
        regenerate(store, name, turns)
        cover(store, name, f"{name}-asked-1", f"{name}-answer-1")
        tip = say(f"{name}-answer-{turns - 1}", "and so on")
        return steps(store, lambda: store.update_message(ADA, name, tip))

    assert cost(200) == cost(20)


def test_rule_03_a_fork_costs_one_probe_for_each_home_on_its_path(store: SqliteStore) -> None:
    grow(store, "s-0", 1)
    for n in range(1, 121):
        fork(store, f"s-{n}", f"s-{n - 1}", f"s-{n - 1}-0")
        store.append(ADA, f"s-{n}", [say(f"s-{n}-0")])
    ids = iter(range(100))

    def cost(homes: int) -> int:
        return steps(store, lambda: store.append(ADA, f"s-{homes}", [say(f"new-{next(ids)}")]))

    few, more, many = cost(1), cost(60), cost(120)
    assert few < more < many
    assert many - more <= (more - few) * 1.2


def test_rule_03_forks_of_one_place_cost_the_same_however_many(store: SqliteStore) -> None:
    grow(store, "s-0", 1)
    for n in range(1, 60):
        fork(store, f"s-{n}", f"s-{n - 1}", "s-0-0")
        store.append(ADA, f"s-{n}", [say("own")])
    ids = iter(range(100))
    first = steps(store, lambda: store.append(ADA, "s-1", [say(f"new-{next(ids)}")]))
    last = steps(store, lambda: store.append(ADA, "s-59", [say(f"new-{next(ids)}")]))
    assert last <= first * 1.1


def test_an_append_in_the_same_second_leaves_the_row_of_the_session_alone(
    store: SqliteStore, tmp_path: Path
) -> None:
    grow(store, "s", 1)
    reader = apsw.Connection(str(tmp_path / "s.db"))
    before = reader.execute("SELECT * FROM session").fetchall()
    for _ in range(3):
        store.append(ADA, "s", [say()])
    assert reader.execute("SELECT * FROM session").fetchall() == before
    record = store.find_session(ADA, "s")
    assert record is not None
    assert (record.messages, record.tip_position and record.tip_position.depth) == (4, 4)
    reader.close()


def test_a_fork_costs_the_same_at_any_depth(store: SqliteStore) -> None:
    grow(store, "s", 20_000)
    names = iter(range(100))
    shallow = steps(store, lambda: fork(store, f"f-{next(names)}", "s", "s-10"))
    assert steps(store, lambda: fork(store, f"f-{next(names)}", "s", "s-19000")) <= shallow * 1.1


def fork(store: SqliteStore, name: str, source: str, message: str) -> None:
    point = ForkPoint(session=source, message=message)
    store.create_session(ADA, NewSession(id=name, fork=point))


def test_rule_04_a_history_costs_what_is_shown_and_not_what_is_covered(store: SqliteStore) -> None:
    grow(store, "short", 60)
    grow(store, "long", 20_000)
    cover(store, "long", "long-0", "long-19940")
    plain = steps(store, lambda: store.read(ADA, "short", Read()))
    assert len(store.read(ADA, "long", Read()).entries) == 60
    assert steps(store, lambda: store.read(ADA, "long", Read())) <= plain * 1.3


def test_rule_04_nested_overlays_cost_no_more_than_the_outermost(store: SqliteStore) -> None:
    grow(store, "s", 300)
    cover(store, "s", "s-0", "s-1")
    one = steps(store, lambda: store.read(ADA, "s", Read(after=250)))
    for n in range(2, 200):
        first = EntryRef(kind="overlay", id=store.list_overlays(ADA, "s")[-1].id)
        last = EntryRef(kind="message", id=f"s-{n}")
        store.add_overlay(ADA, "s", NewOverlay(first=first, last=last, summary="so far"))
    assert steps(store, lambda: store.read(ADA, "s", Read(after=250))) <= one * 1.3


def test_rule_04_the_last_few_cost_the_same_in_a_long_history(store: SqliteStore) -> None:
    grow(store, "short", 100)
    grow(store, "long", 20_000)
    query = Read(limit=50, backwards=True)
    short = steps(store, lambda: store.read(ADA, "short", query))
    assert steps(store, lambda: store.read(ADA, "long", query)) == short


def test_the_context_costs_the_same_in_a_long_history(store: SqliteStore) -> None:
    grow(store, "short", 100)
    grow(store, "long", 20_000)
    short = steps(store, lambda: store.find_session(ADA, "short"))
    assert steps(store, lambda: store.find_session(ADA, "long")) == short > 0


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("order", ["active", "created", "updated"])
def test_every_page_of_sessions_costs_the_same_even_when_all_are_of_one_second(
    store: SqliteStore, order: Literal["active", "created", "updated"], reverse: bool
) -> None:
    for n in range(25 * PAGE):
        grow(store, f"s-{n}", 1)
    pages = [SessionQuery(limit=PAGE, order=order, reverse=reverse)]
    while (cursor := store.list_sessions(ADA, pages[-1]).cursor) is not None:
        pages.append(replace(pages[0], cursor=cursor))
    listed = [it.id for page in pages for it in store.list_sessions(ADA, page).sessions]
    assert listed == [f"s-{n}" for n in range(25 * PAGE)][:: 1 if reverse else -1]
    first, *others = [
        steps(store, lambda page=page: store.list_sessions(ADA, page)) for page in pages
    ]
    assert first > 0
    assert max(others) <= first * 1.1


def test_a_look_up_by_a_key_costs_what_it_finds(store: SqliteStore) -> None:
    def make(id: str, *key: str) -> None:
        store.create_session(ADA, NewSession(id=id, system=SystemFields(key=key)))

    for n in range(5):
        make(f"found-{n}", "agent", "found", str(n))
    query = SessionQuery(key=("agent", "found"))
    costs = []
    for count in (50, 1_000):
        for n in range(count):
            make(f"other-{count}-{n}", "agent", "other", str(n))
        store.create_session("bob", NewSession(id=f"{count}", system=SystemFields(key=query.key)))
        listed = [it.id for it in store.list_sessions(ADA, query).sessions]
        assert listed == [f"found-{n}" for n in reversed(range(5))]
        costs.append(steps(store, lambda: store.list_sessions(ADA, query)))
    few, many = costs
    assert 0 < many <= few * 1.1


def test_an_append_costs_the_same_whenever_its_message_was_said(store: SqliteStore) -> None:
    grow(store, "s", 3)
    plain = steps(store, lambda: store.append(ADA, "s", [say()]))
    old = replace(say(), created_us=ONE_SECOND + 5)
    assert steps(store, lambda: store.append(ADA, "s", [old])) == plain


def test_a_page_of_the_feed_costs_the_same_anywhere_in_a_large_batch(store: SqliteStore) -> None:
    for session, count in (("small", 2 * PAGE), ("large", 5_000)):
        store.create_session(session, NewSession(id="s"))
        store.append(session, "s", [say(f"m{n}") for n in range(count)])
    small = steps(store, lambda: store.changes("small", limit=PAGE))
    cursor = store.changes("large", limit=1 + 4_000).cursor
    page = store.changes("large", after=cursor, limit=PAGE)
    assert ids_told(page) == [f"m{n}" for n in range(4_000, 4_020)]
    for after in ("", cursor):
        cost = steps(store, lambda after=after: store.changes("large", after=after, limit=PAGE))  # type: ignore[misc]
        assert cost < 2 * small


def test_a_page_of_the_feed_costs_the_same_beside_the_changes_of_others(
    store: SqliteStore,
) -> None:
    def write(owner: str, count: int) -> None:
        for n in range(count):
            store.append(owner, "s", [say(f"{owner}-{count}-{n}")])

    for owner in ("few", "others"):
        store.create_session(owner, NewSession(id="s"))
    write("few", PAGE)
    alone = steps(store, lambda: store.changes("few", limit=PAGE))
    cursor = store.feed_cursor("few")
    for n in range(PAGE):
        write("others", 50)
        store.append("few", "s", [say(f"more-{n}")])
    assert len(store.changes("few", after=cursor, limit=PAGE).changes) == PAGE
    beside = steps(store, lambda: store.changes("few", after=cursor, limit=PAGE))
    assert 0 < beside <= 1.3 * alone
    assert steps(store, lambda: store.feed_cursor("few")) < alone


def test_rule_03_a_fork_of_a_fork_costs_the_same_in_a_long_chain(store: SqliteStore) -> None:
    grow(store, "s-0", 1)
    names = iter(range(100))

    def cost(at: int) -> int:
        return steps(store, lambda: fork(store, f"f-{next(names)}", f"s-{at}", f"s-{at}-0"))

    for n in range(1, 201):
        fork(store, f"s-{n}", f"s-{n - 1}", f"s-{n - 1}-0")
        store.append(ADA, f"s-{n}", [say(f"s-{n}-0")])
    assert cost(200) == cost(20)


def side_by_side(store: SqliteStore, name: str, overlays: int) -> None:
    """Make overlays of two messages each, with one between them that is shown."""
    grow(store, name, 3 * overlays + 10)
    for n in range(overlays):
        cover(store, name, f"{name}-{3 * n}", f"{name}-{3 * n + 1}")


def test_an_overlay_costs_the_same_beside_many_others(store: SqliteStore) -> None:
    def cost(overlays: int) -> int:
        name = f"s-{overlays}"
        side_by_side(store, name, overlays)
        first = 3 * overlays

        def add_and_undo() -> None:
            cover(store, name, f"{name}-{first}", f"{name}-{first + 2}")
            store.undo_overlay(ADA, name, store.list_overlays(ADA, name)[-1].id)

        listing = steps(store, lambda: store.list_overlays(ADA, name))
        return steps(store, add_and_undo) - listing

    assert cost(200) <= cost(20) * 1.1


@pytest.mark.parametrize("place", [3, 95, 190])
def test_a_checkout_costs_the_same_among_many_overlays_once_they_were_passed(
    store: SqliteStore, place: int
) -> None:
    for overlays in (20, 200):
        side_by_side(store, f"s-{overlays}", overlays)

    def cost(overlays: int) -> int:
        message = f"s-{overlays}-{3 * overlays * place // 200 + 2}"
        return steps(store, lambda: store.checkout(ADA, f"s-{overlays}", message))

    assert cost(200) <= cost(20) * 1.1


def test_the_usage_of_an_owner_costs_the_same_with_many_sessions(store: SqliteStore) -> None:
    def cost(sessions: int) -> int:
        owner = f"of-{sessions}"
        for n in range(sessions):
            store.create_session(owner, NewSession(id=f"s-{n}"))
            store.add_usage(owner, f"s-{n}", Usage(id="u", model=f"m-{n % 2}", input_tokens=1))
        assert [it.calls for it in store.total_owner_usage(owner)] == [sessions // 2] * 2
        return steps(store, lambda: store.total_owner_usage(owner))

    assert cost(300) == cost(10) > 0


@pytest.mark.parametrize("session", [None, "s"])
def test_a_page_of_documents_costs_the_same_among_many(
    store: SqliteStore, session: str | None
) -> None:
    grow(store, "s", 1)

    def cost() -> int:
        asked: dict[str, Any] = {"session": session, "after": "k/0030", "limit": 10}
        assert len(store.list_documents(ADA, "k/", **asked)) == 10
        return steps(store, lambda: store.list_documents(ADA, "k/", **asked))

    costs: list[int] = []
    for count in (60, 3_000):
        for n in range(count):
            store.put_document(ADA, f"k/{n:04}", b"", session=session)
        costs.append(cost())
    assert costs[0] == costs[1] > 0

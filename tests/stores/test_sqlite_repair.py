"""Damage to what is derived is found, and rebuilt from what was said."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from sapwood.errors import StoreCorruptError
from sapwood.model import NewSession, Read, SessionQuery, Usage
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.checksum import checksum
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

from .derived import (
    DATA_DAMAGES,
    LISTING_DAMAGES,
    LOST_MARK,
    LOST_VALUE,
    data_of,
    furnish_data,
    furnish_listing,
    listing_of,
)


def clock() -> int:
    return time.time_ns() // 1_000


def opened(path: Path) -> SqliteStore:
    return SqliteStore(path, clock=clock, new_id=IdMaker(clock, os.urandom), durability="normal")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Give a file with branches, forks, overlays, edits and deletions."""
    path = tmp_path / "s.db"
    with opened(path) as store:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(1, 7):
            store.append(ADA, "s", [say(f"m{n}", tokens=n)])
        store.append(ADA, "s", [say("x1", tokens=11), say("x2", tokens=12)], parent="m2")
        store.create_session(ADA, fork_of("s", "m4", id="f"))
        store.append(ADA, "f", [say("f1", tokens=21), say("f2", tokens=22)])
        store.create_session(ADA, fork_of("f", "f1", id="g"))
        store.append(ADA, "g", [say("g1", tokens=31)])
        store.add_overlay(ADA, "s", cover("m1", "m2", id="o1"))
        store.add_overlay(ADA, "f", cover("m3", "f1", id="o2"))
        store.update_message(ADA, "s", say("m3", "changed", tokens=40))
        store.delete_messages(ADA, "s", ["x1"])
        store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=3))
        store.create_session(ADA, NewSession(id="p"))
        store.append(ADA, "p", [say(f"p{n}", tokens=n) for n in range(1, 7)])
        store.add_overlay(ADA, "p", cover("p1", "p2", id="p-o1"))
        store.add_overlay(ADA, "p", cover("p4", "p5", id="p-o2"))
        store.finish_deletions()
        assert store.admin.check() == []
    return path


DAMAGES = {
    "a count of messages": "UPDATE session SET apart = apart + 1 WHERE id = 's'",
    "a count of overlays": "UPDATE session SET overlays = overlays + 1 WHERE id = 'f'",
    "no overlays counted": "UPDATE session SET overlays = 0",
    "a sum": "UPDATE session SET lead = lead + 5 WHERE id = 'g'",
    "all sums": "UPDATE session SET lead = 1, apart = 2",
    "a second": "UPDATE session SET active_s = 7 WHERE id = 's'",
    "a running sum": "UPDATE message SET path_tokens = 999 WHERE id = 'm2'",
    "the first running sum": "UPDATE message SET path_tokens = 5 WHERE id = 'm1'",
    "all running sums": "UPDATE message SET path_tokens = 0",
    "an edit": "UPDATE edit SET delta = delta + 1",
    "lineages": "UPDATE segment SET lineage = x''",
    "a lineage": "UPDATE segment SET lineage = x'0000000001000001' WHERE number = 3",
    "lineages that are none": "UPDATE segment SET lineage = x'ff'",
    "an overlay in force elsewhere": "UPDATE in_force SET last = last + 1, first_depth = 0",
    "an overlay in force that is gone": "INSERT INTO in_force VALUES (1, 5, 1, 999, NULL)",
    "a sum at an overlay": "UPDATE in_force SET shown = 5 WHERE session > 3",
    "the sums of an owner": "UPDATE usage_total SET calls = calls + 1 WHERE model = 'm'",
    "sums of no owner": "INSERT INTO usage_total VALUES (99, 'm', 1, 0, 0, 0, 0, 0)",
    "no sums": "DELETE FROM usage_total",
    "everything": (
        "UPDATE session SET lead = 1, apart = 2, overlays = 9, active_s = 0;"
        "UPDATE message SET path_tokens = 0; UPDATE segment SET lineage = x''"
    ),
}


def damage(path: Path, sql: str) -> None:
    with closing(apsw.Connection(str(path))) as raw:
        raw.create_scalar_function("checksum_of", lambda *them: checksum(them))
        raw.execute(sql.replace("{}", "").replace("BYTES", "BLOB"))


def seen(path: Path) -> list[Any]:
    with opened(path) as store:
        return [
            (
                shown(store.read(ADA, name, Read())),
                store.read(ADA, name, Read(overlays=False)).entries,
                store.read(ADA, name, Read()).context_tokens,
                store.find_session(ADA, name),
                store.total_owner_usage(ADA),
            )
            for name in ("s", "f", "g", "p")
        ]


@pytest.mark.parametrize("name", DAMAGES)
def test_it_is_found_and_rebuilt(name: str, path: Path) -> None:
    before = seen(path)
    damage(path, DAMAGES[name])
    with opened(path) as store:
        assert store.admin.check() != []
        assert store.admin.repair() == []
        assert store.admin.check() == []
    assert seen(path) == before


@pytest.mark.parametrize("name", LISTING_DAMAGES)
def test_rule_14_what_sessions_are_found_by_is_rebuilt_from_their_records(
    name: str, tmp_path: Path
) -> None:
    with opened(tmp_path / "s.db") as store:
        furnish_listing(store)
        before = listing_of(store)
        assert store.admin.check() == []
        damage(tmp_path / "s.db", LISTING_DAMAGES[name])
        assert {it.kind for it in store.admin.check()} == {"session"}
        assert store.admin.repair() == []
        assert listing_of(store) == before


def test_rule_14_what_cannot_be_read_of_a_record_holds_up_no_other(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as store:
        furnish_listing(store)
        wrong = "UPDATE profile SET tags = 'x' WHERE title = 'A title';"
        wrong += "UPDATE profile SET system = x'7b' WHERE session = 2"
        damage(tmp_path / "s.db", f"{wrong}; UPDATE profile SET title_key = NULL")
        problems = store.admin.repair()
        assert sorted(it.where for it in problems) == ["branch", "listed"]
        found = store.list_sessions(ADA, SessionQuery(title_prefix="L", kind="aside"))
        assert [it.id for it in found.sessions] == ["aside"]


SUMMED_UP = "UPDATE data SET previous = 0, checksum = checksum_of(pos, 0, value) WHERE previous > 0"


@pytest.mark.parametrize(
    "sql",
    [
        *DATA_DAMAGES.values(),
        "UPDATE session SET has_data = 0",
        SUMMED_UP,
        f"UPDATE session SET has_data = 0; UPDATE segment SET data_at = 0; {SUMMED_UP}",
    ],
)
def test_rule_14_where_data_stands_is_rebuilt(sql: str, tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as store:
        furnish_data(store)
        before = data_of(store)
        assert store.admin.check() == []
        damage(tmp_path / "s.db", sql)
        assert store.admin.check() != []
        assert store.admin.repair() == []
        assert data_of(store) == before


def test_rule_14_a_fork_without_a_message_of_its_own_is_told_of_data_above_it(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "s.db") as store:
        furnish_data(store)
        fork = store.create_session(ADA, fork_of("s", "k", id="quiet"))
        for session in ("s", "fork"):
            store.delete_session(ADA, session)
        store.finish_deletions()
        damage(tmp_path / "s.db", "UPDATE session SET has_data = 0")
        assert [it.where for it in store.admin.check()] == ["quiet"]
        assert store.admin.repair() == []
        found = store.find_session(ADA, "quiet")
        assert found is not None
        assert (found.data_at, found.tip) == (fork.data_at, "k")


@pytest.mark.parametrize(
    "sql", [LOST_MARK, LOST_VALUE, "UPDATE data SET previous = 9 WHERE previous > 0"]
)
def test_rule_08_data_that_is_lost_is_told_and_not_repaired(sql: str, tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as store:
        furnish_data(store)
        damage(tmp_path / "s.db", sql)
        for problems in (store.admin.check(), store.admin.repair()):
            assert {it.kind for it in problems} == {"data"}


def test_an_index_that_misses_rows_is_rebuilt(path: Path) -> None:
    def without_index(work: Callable[[apsw.Connection], object]) -> None:
        with closing(apsw.Connection(str(path))) as raw:
            raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
            raw.pragma("writable_schema", "ON")
            work(raw)

    find = "SELECT * FROM sqlite_schema WHERE name = 'session_by_active'"
    with closing(apsw.Connection(str(path))) as raw:
        [row] = raw.execute(find).fetchall()
    without_index(lambda raw: raw.execute("DELETE FROM sqlite_schema WHERE name = ?", (row[1],)))
    damage(path, "UPDATE session SET active_s = active_s")
    damage(path, "UPDATE session SET active_s = active_s - 1, active_at = active_at - 1000000")
    without_index(lambda raw: raw.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row))
    with opened(path) as store:
        assert [problem.kind for problem in store.admin.check()][:1] == ["file"]
        assert store.admin.repair() == []


def test_what_was_said_is_not_touched_and_its_damage_stays(path: Path) -> None:
    damage(path, "UPDATE message SET body = x'7b' WHERE id = 'm2'; UPDATE session SET apart = 9")
    with opened(path) as store:
        assert [problem.where for problem in store.admin.repair()] == ["m2"]
        with pytest.raises(StoreCorruptError):
            store.read(ADA, "s", Read(overlays=False))


def test_a_tip_that_is_missing_stays_a_problem(path: Path) -> None:
    damage(path, "UPDATE session SET tip = 5 << 40, grows = 0 WHERE id = 's'")
    with opened(path) as store:
        assert [problem.what for problem in store.admin.repair()] == ["its tip is missing"]


@pytest.mark.parametrize("limits", [{}, {"backwards": True, "limit": 4}, {"max_bytes": 10_000}])
def test_rule_08_a_missing_message_is_not_left_out_of_a_history(
    path: Path, limits: dict[str, Any]
) -> None:
    damage(path, "DELETE FROM message WHERE id = 'm5'")
    with opened(path) as store:
        store.checkout(ADA, "s", "m6")
        with pytest.raises(StoreCorruptError, match="the message at depth 5 of session"):
            store.read(ADA, "s", Read(**limits))
        assert store.admin.check() != []


def test_rule_08_a_deleted_message_is_not_taken_for_a_missing_one(path: Path) -> None:
    with opened(path) as store:
        store.checkout(ADA, "s", "m6")
        store.delete_messages(ADA, "s", ["m4", "m5"])
        for limits in ({}, {"limit": 1, "backwards": True}, {"limit": 2}, {"max_bytes": 1}):
            store.read(ADA, "s", Read(**limits))
            store.read(ADA, "s", Read(**limits, overlays=False))


def test_rule_08_what_stands_on_a_missing_message_says_so(path: Path) -> None:
    damage(path, "DELETE FROM message WHERE id IN ('x2', 'f2', 'm4')")
    with opened(path) as store:
        calls: list[Callable[[], object]] = [
            lambda: store.append(ADA, "s", [say("new")]),
            lambda: store.append(ADA, "s", [say("new")], expected_tip="x2"),
            lambda: store.read(ADA, "s", Read()),
            lambda: store.append(ADA, "f", [say("new"), say("new2")]),
        ]
        for call in calls:
            with pytest.raises(StoreCorruptError, match="is missing from the"):
                call()


def test_rule_08_leaves_that_are_missing_are_told(path: Path) -> None:
    with opened(path) as store:
        store.create_session(ADA, fork_of("s", "m6", id="h"))
    damage(path, "DELETE FROM message WHERE id = 'm6'")
    missing = pytest.raises(StoreCorruptError, match=r"position \d+\.6 is missing")
    with opened(path) as store, missing:
        store.list_leaves(ADA, "h")


def test_rule_08_an_unknown_kind_of_link_is_found_and_told(path: Path) -> None:
    damage(path, "UPDATE profile SET parent_kind = 'bogus' WHERE parent = 's'")
    with opened(path) as store:
        calls: list[Callable[[], object]] = [
            lambda: store.find_session(ADA, "f"),
            lambda: store.list_sessions(ADA, SessionQuery()),
        ]
        for call in calls:
            with pytest.raises(StoreCorruptError, match=r"session 'f'.*no known kind: 'bogus'"):
                call()
        [problem] = store.admin.check()
        assert (problem.kind, problem.where) == ("session", "f")

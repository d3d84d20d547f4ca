"""A fork that a server makes in few round trips is the same as one that is planned."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from typing import Any, NamedTuple

import msgspec
import psycopg
import pytest
from servers import mariadb, postgres
from servers.sql import MariaDb
from tier import often

from sapwood.errors import AlreadyExistsError, NotFoundError
from sapwood.model import (
    ROOT,
    ChangeKind,
    Edge,
    EdgeKind,
    ForkPoint,
    NewSession,
    Read,
    Usage,
)
from sapwood.rules.ids import IdMaker
from sapwood.rules.tree import LINEAGE_CAP
from sapwood.store import Store
from sapwood.stores.postgres import PostgresStore
from sapwood.stores.postgres._sync.fork import PostgresForkStatements
from sapwood.stores.sqlalchemy import SqlAlchemyStore
from sapwood.stores.sqlalchemy.fork import SqlForkStatements
from sapwood.testing.makers import ADA, cover, fork_of, ids_told, say, shown

NOW = 1_700_000_000_000_000
FAR_DOWN = ForkPoint(session="deep")
"""On MariaDB a path of so many segments is left to be planned."""
new_id = IdMaker(lambda: NOW, os.urandom)


class Forks(NamedTuple):
    """A store whose forks are made in one way or the other, and a client of its server."""

    store: Store
    patch: pytest.MonkeyPatch
    kind: Any
    client: Any
    prefix: str
    locks: tuple[str, ...]
    """What takes the locks that there are, in their order, and waits for nobody."""

    def rows(self, statement: str) -> list[dict[str, Any]]:
        cursor = self.client.cursor()
        cursor.execute(statement)
        keys = [it[0] for it in cursor.description]
        return [dict(zip(keys, row, strict=True)) for row in cursor.fetchall()]

    def stored(self, id: str) -> dict[str, Any]:
        """Return the rows of a session, but for what no two have in common."""
        [session] = self.rows(f"SELECT * FROM {self.prefix}session WHERE id = '{id}'")
        number = session["number"]
        for key in ("id", "key", "number", "home"):
            session.pop(key, None)
        tables = {"session": [session]}
        for table in ("profile", "inherited", "in_force", "document"):
            of_it = f"SELECT * FROM {self.prefix}{table} WHERE session = {number}"
            rows = [{**row, "session": 0} for row in self.rows(of_it)]
            tables[table] = sorted(
                ({**row, "version": 0} if table == "document" else row for row in rows), key=repr
            )
        self.client.rollback()
        return tables

    def planned(self, new: NewSession) -> Any:
        with self.patch.context() as patch:
            patch.setattr(self.kind, "fork_at_once", lambda *args: None)
            return self.store.create_session(ADA, new)

    def fast(self, new: NewSession) -> Any:
        def refuse(*args: Any) -> None:
            raise AssertionError(f"{new} is planned")

        with self.patch.context() as patch:
            if new.fork != FAR_DOWN or self.kind is PostgresForkStatements:
                patch.setattr(self.kind, "stand_on", refuse)
            return self.store.create_session(ADA, new)


@pytest.fixture(params=["postgres", "mariadb"])
def forks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forks]:
    url = request.getfixturevalue(f"{request.param}_url")
    kept: dict[str, Any] = {"new_id": new_id, "clock": lambda: NOW}
    if request.param == "postgres":
        postgres.empty()
        name = f"{postgres.schema()}."
        locks = (
            f"SELECT number FROM {name}owner FOR UPDATE",
            f"SELECT {name}lock_tree(tree) FROM {name}session",
        )
        with (
            PostgresStore(url, schema=postgres.schema(), **kept) as store,
            psycopg.connect(url, options="-c lock_timeout=1ms") as client,
        ):
            yield Forks(store, monkeypatch, PostgresForkStatements, client, name, locks)
    else:
        database = MariaDb()
        name = database.prefix()
        locks = (
            f"SELECT number FROM {name}owner WHERE name = '{ADA}' FOR UPDATE NOWAIT",
            f"SELECT number FROM {name}home FOR UPDATE NOWAIT",
            f"SELECT number FROM {name}session FOR UPDATE NOWAIT",
        )
        with (
            SqlAlchemyStore.from_url(database.url(), **kept) as store,
            closing(mariadb.connect(url)) as client,
        ):
            # Rows are locked there, and not what is between them.
            client.cursor().execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            client.autocommit(False)
            yield Forks(store, monkeypatch, SqlForkStatements, client, name, locks)


def grow(store: Store, session: str, *ids: str, parent: str | None = None) -> None:
    new = [say(id, tokens=3 + n) for n, id in enumerate(ids)]
    store.append(ADA, session, new, parent=parent)


def plant(store: Store) -> None:
    """Make sessions that differ in all that a fork takes over."""
    profile: dict[str, Any] = {"tags": ["a", "b"], "budget": 9, "attributes": {"x": [1]}}
    profile |= {"model": "größer", "source": "cli", "end_reason": "timeout"}
    store.create_session(ADA, NewSession(id="empty", title="e", **profile))
    store.create_session(ADA, NewSession(id="s", title="s", **profile))
    grow(store, "s", *(f"m{n}" for n in range(12)))
    grow(store, "s", "x1", "x2", "x3", parent="m3")
    grow(store, "s", "y1", parent="x1")
    store.add_overlay(ADA, "s", cover("m2", "x1", id="on a branch", leaf="y1", tokens=7))
    store.checkout(ADA, "s", "m11")
    for n, (first, last) in enumerate([("m2", "m3"), ("m1", "<o0>"), ("m6", "m7"), ("m9", "m9")]):
        store.add_overlay(ADA, "s", cover(first, last, id=f"o{n}", tokens=11 + n))
    store.add_overlay(ADA, "s", cover("<o2>", "m8", id="around", tokens=2))
    for key in ("first", "second", "pins"):
        store.put_document(ADA, key, b'["m3", "m7", "m4", "x1", "no", "\\u0000"]', session="s")
    store.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
    store.put_document(ADA, "not inherited", b"", session="s", inherit=False)
    store.add_usage(ADA, "s", Usage(id="u", model="m", input_tokens=5))
    store.update_message(ADA, "s", say("m2", "longer", tokens=40))
    store.update_message(ADA, "s", say("m5", "longer", tokens=60))
    store.update_message(ADA, "s", say("x3", "longer", tokens=80))
    store.delete_messages(ADA, "s", ["m4", "m7"])
    for id, source, at in (("f", "s", "m8"), ("g", "f", "f2"), ("at the tip", "s", None)):
        store.create_session(ADA, fork_of(source, at, id=id))
        grow(store, id, *(f"{id[0]}{n}" for n in range(4)))
        store.add_overlay(ADA, id, cover(f"{id[0]}0", f"{id[0]}1", id=f"in {id}", tokens=1))
    store.checkout(ADA, "g", "m5")
    plant_the_odd(store)
    # Whoever shows it has to sum anew.
    store.update_message(ADA, "s", say("m2", "even longer", tokens=90))


def plant_the_odd(store: Store) -> None:
    for id in ("gone", "deep"):
        store.create_session(ADA, NewSession(id=id))
        grow(store, id, *(f"{id}{n}" for n in range(4)))
    store.create_session(ADA, fork_of("gone", "gone2", id="heir"))
    grow(store, "heir", "h0", "h1")
    store.create_session(ADA, fork_of("heir", "h0", id="heir of an heir"))
    store.add_overlay(ADA, "heir of an heir", cover("gone1", "h0", id="left"))
    store.delete_session(ADA, "gone")
    last = "deep3"
    for n in range(LINEAGE_CAP + 6):
        grow(store, "deep", f"d{n}", f"e{n}", parent=last)
        last = f"d{n}"
    store.add_overlay(ADA, "deep", cover("deep1", "d2", id="far up"))
    store.add_overlay(ADA, "deep", cover("d40", "d60", id="far down"))


def places() -> list[tuple[str, Any]]:
    own = {
        "s": ["m0", "m1", "m3", "m4", "m5", "m7", "m8", "m9", "m10", "m11", "x1", "x3", "y1"],
        "f": ["m2", "m5", "m8", "f0", "f1", "f3"],
        "g": ["f1", "m1", "m5", "f2", "g0", "g3"],
        "at the tip": ["m4", "m11", "a1"],
        "heir": ["gone1", "gone2", "h1"],
        "heir of an heir": ["gone0", "gone1", "h0"],
        "deep": ["deep2", "d1", "d50", "e60"],
        "empty": [],
    }
    return [(session, at) for session, ids in own.items() for at in (None, ROOT, *ids)]


def facts(store: Store, id: str) -> str:
    """Write down all that there is to know about a session."""
    record = store.find_session(ADA, id)
    assert record is not None
    path = [ROOT, *(it.id for it in store.read(ADA, id, Read(overlays=False)).messages_only)]
    all_ids = {at for _, at in places() if isinstance(at, str)}
    told = [
        record,
        store.read(ADA, id, Read()),
        store.read(ADA, id, Read(overlays=False)),
        store.list_overlays(ADA, id),
        [(it.key, it.value, it.updated_us) for it in store.list_documents(ADA, session=id)],
        store.total_usage(ADA, id),
        store.list_leaves(ADA, id),
        [store.list_children(ADA, id, at) for at in (*path[:3], *path[-3:])],
        [] if record.tip is ROOT else store.list_gaps(ADA, id, str(record.tip)),
        store.find_messages(ADA, id, sorted(all_ids)),
    ]
    return msgspec.json.encode(told, enc_hook=str).decode().replace(f'"{id}"', '"the fork"')


def goes_on(store: Store, id: str, cursor: str) -> tuple[list[Any], str]:
    """Write to a session; return what it is like then, and where the feed goes on."""
    told: list[Any] = []
    for parent in (None, ROOT):
        store.append(ADA, id, [say(f"after {parent}", tokens=5)], parent=parent)
        record = store.find_session(ADA, id)
        assert record is not None
        told += [record.context_tokens, record.messages, shown(store.read(ADA, id, Read()))]
    for overlay in store.list_overlays(ADA, id):
        store.undo_overlay(ADA, id, overlay.id)
        told.append(shown(store.read(ADA, id, Read())))
    page = store.changes(ADA, after=cursor)
    assert {it.session for it in page.changes} == {id}
    told.append([(it.kind, it.message, it.depth) for it in page.changes])
    return told, page.cursor


def test_a_fast_fork_is_what_a_planned_one_is(forks: Forks) -> None:
    store = forks.store
    plant(store)
    cursor = store.changes(ADA, limit=10_000).cursor
    tried = places()[:: often(3, 1)]
    for n, (source, at) in enumerate(tried):
        ids = f"fast {n}", f"planned {n}"
        begin = store.feed_cursor(ADA)
        one = forks.fast(fork_of(source, at, id=ids[0]))
        two = forks.planned(fork_of(source, at, id=ids[1]))
        told = store.changes(ADA, after=begin).changes
        assert [(it.kind, it.session, it.version) for it in told] == [
            (ChangeKind.RECORD, id, one.version) for id in ids
        ]
        assert len({it.tree for it in told}) == 1
        assert msgspec.structs.replace(one, id="") == msgspec.structs.replace(two, id="")
        assert store.find_session(ADA, ids[0]) == one
        assert facts(store, ids[0]) == facts(store, ids[1]), (source, at)
        assert forks.stored(ids[0]) == forks.stored(ids[1]), (source, at)
    assert ids_told(store.changes(ADA, after=cursor)) == []
    cursor = store.feed_cursor(ADA)
    assert store.admin.check() == []
    for n, place in enumerate(tried):
        fast, cursor = goes_on(store, f"fast {n}", cursor)
        planned, cursor = goes_on(store, f"planned {n}", cursor)
        assert fast == planned, place
    before = store.statistics(ADA).sessions
    for kind in ("fast", "planned"):
        for n in range(len(tried)):
            store.delete_session(ADA, f"{kind} {n}")
        store.finish_deletions()
        assert store.admin.check() == []
    assert before - store.statistics(ADA).sessions == 2 * len(tried)


def test_a_fast_fork_says_of_itself_what_a_planned_one_does(forks: Forks) -> None:
    store = forks.store
    plant(store)
    given: list[dict[str, Any]] = [
        {"title": "t\0", "state": "idle", "tags": [], "attributes": {}, "budget": None},
        {"tags": ["ö", "-"], "attributes": {"y": "\U0001f600"}, "budget": 3},
        {"model": None, "source": "wéb", "end_reason": "ö"},
        {"parent": Edge(kind=EdgeKind.CONTINUE, session="f"), "created_us": 12_345_678},
    ]
    for n, words in enumerate(given):
        one, two = (
            make(NewSession(id=f"{n} {kind}", fork=ForkPoint(session="s", message=at), **words))
            for kind, make in (("fast", forks.fast), ("planned", forks.planned))
            for at in ("m5",)
        )
        assert facts(store, one.id) == facts(store, two.id)
        assert msgspec.structs.replace(one, id="") == msgspec.structs.replace(two, id="")


def test_pins_that_cannot_be_read_stop_no_fork(forks: Forks) -> None:
    store = forks.store
    store.create_session(ADA, NewSession(id="s"))
    grow(store, "s", "m0", "m1", "m2", "m3")
    store.add_overlay(ADA, "s", cover("m0", "m1", id="o", tokens=1))
    store.put_document(ADA, "pins", b"no list", session="s")
    for at in (None, "m2"):
        one = forks.fast(fork_of("s", at, id=f"fast {at}"))
        two = forks.planned(fork_of("s", at, id=f"planned {at}"))
        assert msgspec.structs.replace(one, id="") == msgspec.structs.replace(two, id="")


def test_what_is_refused_is_refused_as_if_it_were_planned(forks: Forks) -> None:
    store = forks.store
    plant(store)
    before = store.statistics(ADA)
    nobody = Edge(kind=EdgeKind.BRANCH, session="nobody")
    wrong = [
        fork_of("nobody"),
        fork_of("s", "nothing"),
        fork_of("f", "m9"),
        fork_of("g", "f3"),
        fork_of("s", id="f"),
        NewSession(id="new", parent=nobody, fork=ForkPoint(session="s")),
    ]
    for new in wrong:
        told = []
        for make in (lambda new: store.create_session(ADA, new), forks.planned):
            with pytest.raises((AlreadyExistsError, NotFoundError)) as raised:
                make(new)
            told.append((type(raised.value), str(raised.value)))
        assert told[0] == told[1]
    with pytest.raises(NotFoundError):
        store.create_session("another owner", fork_of("s"))
    assert store.statistics(ADA) == before
    assert store.admin.check() == []


def test_a_detached_fork_takes_the_overlays_along(forks: Forks) -> None:
    store = forks.store
    plant(store)
    for source, at in (("s", None), ("s", "m8"), ("g", None), ("empty", None)):
        id = f"detached from {source} at {at}"
        made = store.create_session(ADA, fork_of(source, at, id=id, detach=True))
        attached = store.create_session(ADA, fork_of(source, at, id=f"attached: {id}"))
        assert made.context_tokens == attached.context_tokens
        assert shown(store.read(ADA, id, Read())) == shown(store.read(ADA, attached.id, Read()))
        copies, kept = (
            [msgspec.structs.replace(overlay, first=None, last=None) for overlay in overlays]
            for overlays in (store.list_overlays(ADA, id), store.list_overlays(ADA, attached.id))
        )
        assert copies == kept
    assert store.admin.check() == []


@pytest.mark.parametrize("at", [None, "m0"])
def test_rule_06_a_fast_fork_takes_locks_in_the_order_of_all_writers(
    forks: Forks, at: str | None
) -> None:
    store = forks.store
    store.create_session(ADA, NewSession(id="s"))
    grow(store, "s", "m0", "m1")
    with ThreadPoolExecutor() as threads:
        for n, lock in enumerate(forks.locks):
            forks.rows(lock)
            fork = threads.submit(forks.fast, fork_of("s", at, id=f"fork {n}"))
            assert wait([fork], timeout=1).not_done
            # Whoever has one gets those after it: they never wait for each other.
            for later in forks.locks[n:]:
                forks.rows(later)
            forks.client.rollback()
            assert fork.result(timeout=20).tip == (at or "m1")


def test_rule_06_fast_forks_race_with_all_that_changes_their_source(forks: Forks) -> None:
    store = forks.store
    store.create_session(ADA, NewSession(id="s"))
    grow(store, "s", *(f"m{n}" for n in range(8)))
    store.add_overlay(ADA, "s", cover("m1", "m3", id="o", tokens=1))

    def fork(way: int) -> None:
        for n in range(12):
            id = f"fork {way} {n}"
            made = store.create_session(ADA, fork_of("s", "m5" if way else None, id=id))
            assert made.context_tokens >= 1
            if n % 3 == 0:
                store.delete_session(ADA, id)

    def change() -> None:
        for n in range(12):
            store.append(ADA, "s", [say(f"n{n}", tokens=2)])
            store.put_document(ADA, "pins", b'["m2"]' if n % 2 else b"[]", session="s")
            store.update_message(ADA, "s", say("m4", f"changed {n}", tokens=n))

    with ThreadPoolExecutor() as threads:
        for done in [threads.submit(fork, 0), threads.submit(fork, 1), threads.submit(change)]:
            done.result()
    assert store.admin.check() == []
    store.finish_deletions()
    assert store.admin.check() == []

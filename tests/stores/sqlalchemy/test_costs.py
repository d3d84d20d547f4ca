"""What a call costs: round trips, statements and rows."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from servers.proxy import Proxy
from servers.sql import Database, MariaDb
from sqlalchemy import Engine, event

from sapwood.model import DocumentPut, Fence, NewSession, Read, Search, SessionPatch
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, SqlAlchemyStore
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

from .support import engine_of, new_id


def statements_of(store: SqlAlchemyStore, call: Any) -> list[str]:
    seen: list[str] = []
    engine = engine_of(store)

    def note(*args: Any) -> None:
        seen.append(args[2].lstrip("(").partition(" ")[0])

    call()
    event.listen(engine, "before_cursor_execute", note)
    call()
    event.remove(engine, "before_cursor_execute", note)
    return [word for word in seen if word != "BEGIN"]


@contextlib.contextmanager
def counted(database: Database) -> Iterator[tuple[SqlAlchemyStore, Proxy]]:
    """Open a store through a proxy, which counts what it is asked."""
    host, port = re.findall(r"@([^:/]+):(\d+)", database.url())[0]
    if host not in ("127.0.0.1", "localhost"):
        pytest.skip("the proxy is for a server on this machine")
    proxy = Proxy(int(port))
    url = database.url().replace(f":{port}/", f":{proxy.port}/")
    clock = time.time_ns
    try:
        with SqlAlchemyStore.from_url(url, new_id=new_id, clock=lambda: clock() // 1000) as store:
            store.create_session(ADA, NewSession(id="s"))
            store.append(ADA, "s", [say(f"m{n}") for n in range(300)])
            yield store, proxy
    finally:
        proxy.close()


def trips(proxy: Proxy, call: Any) -> int:
    """Count the round trips of a call, which was made before as often as a driver waits for."""
    for _ in range(12):
        call()
    before = proxy.requests
    call()
    return proxy.requests - before


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_rule_03_an_append_is_one_round_trip_however_long_the_history(database: Database) -> None:
    ids = count()
    with counted(database) as (store, proxy):
        assert trips(proxy, lambda: store.append(ADA, "s", [say(None)])) == 1
        assert trips(proxy, lambda: store.append(ADA, "s", [say(f"n{next(ids)}")])) == 1
        assert store.admin.check() == []


def test_a_session_that_was_opened_again_is_appended_to_as_before(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    call = lambda: store.append(ADA, "s", [say(None)])  # noqa: E731
    usual = statements_of(store, call)
    for closed in (True, False):
        store.update_session(ADA, "s", SessionPatch(closed=closed))
    assert statements_of(store, call) == usual
    assert len(store.read(ADA, "s", Read()).messages_only) == 4
    assert store.admin.check() == []


def test_what_comes_along_with_an_append_is_committed_with_it(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")])
    lease = store.put_document(ADA, "lease", b"", session="s")
    commits: list[object] = []
    written: list[str] = []
    engine = engine_of(store)
    event.listen(engine, "commit", committed := lambda conn: commits.append(conn))
    event.listen(engine, "before_cursor_execute", run := lambda *args: written.append(args[2]))
    store.append(
        ADA,
        "s",
        [say("m2")],
        fence=Fence(key="lease", version=lease.version),
        documents=[DocumentPut(key="k", value=b"")],
        patch=SessionPatch(title="t"),
    )
    event.remove(engine, "commit", committed)
    event.remove(engine, "before_cursor_execute", run)
    assert len(commits) == 1
    # All of it is seen here, with what the feed tells: a block that commits by itself would not be.
    assert sum(text_of.startswith("INSERT") for text_of in written) == 3


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_rule_04_a_read_up_to_the_tip_is_one_round_trip_and_its_end(database: Database) -> None:
    ends = 1 if isinstance(database, MariaDb) else 0
    with counted(database) as (store, proxy):
        for query in (Read(), Read(limit=5, backwards=True), Read(after=3, before=9)):
            assert trips(proxy, lambda query=query: store.read(ADA, "s", query)) == 1 + ends
        assert trips(proxy, lambda: store.find_session(ADA, "s")) == 1 + ends


def test_rule_03_an_append_to_sqlite_is_three_statements(tmp_path: Path) -> None:
    url = f"sqlalchemy+sqlite:///{tmp_path}/s.db"
    with SqlAlchemyStore.from_url(url, new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say(f"m{n}") for n in range(300)])
        # Rows are numbered by a counter.
        wanted = ["UPDATE", "UPDATE", "INSERT"]
        assert statements_of(store, lambda: store.append(ADA, "s", [say(None)])) == wanted


def test_a_database_without_blocks_is_sent_two_statements(
    mariadb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MySQL is, which has none: here it is MariaDB that is not asked for one."""
    monkeypatch.setattr(
        "sapwood.stores.sqlalchemy.quick_append.has_compounds", lambda dialect: False
    )
    ids = count()
    with SqlAlchemyStore.from_url(MariaDb().url(), new_id=new_id) as store:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("first")])
        call = lambda: store.append(ADA, "s", [say(f"m{next(ids)}")])  # noqa: E731
        assert statements_of(store, call) == ["UPDATE", "INSERT"]
        assert store.append(ADA, "s", [say("m1")]).written == 0
        assert [it.depth for it in store.read(ADA, "s", Read()).messages_only] == [1, 2, 3]
        assert store.admin.check() == []


def test_rule_04_a_read_up_to_the_tip_is_one_statement(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"m{n}") for n in range(30)])
    for query in (Read(), Read(limit=5, backwards=True), Read(after=3, before=9)):
        assert statements_of(store, lambda query=query: store.read(ADA, "s", query)) == ["SELECT"]
    assert statements_of(store, lambda: store.find_session(ADA, "s")) == ["SELECT"]


def test_a_fork_takes_over_overlays_and_documents_together(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"m{n}") for n in range(40)])
    took: list[int] = []
    ids = count()
    for many in (1, 20):
        for n in range(len(took), many):
            store.add_overlay(ADA, "s", cover(f"m{2 * n}", f"m{2 * n + 1}", id=f"o{n}"))
            store.put_document(ADA, f"d{n}", b"x", session="s")
        call = lambda: store.create_session(ADA, fork_of("s", id=f"fork {next(ids)}"))  # noqa: E731
        took.append(len(statements_of(store, call)))
    # Each of 19 more summaries that are shown is looked at for the sum, and that is all.
    assert took[1] - took[0] <= 19
    assert len(store.list_overlays(ADA, "fork 3")) == 20
    assert len(store.list_documents(ADA, session="fork 3")) == 20


def rows_read(engine: Engine, text_of: str, params: Any) -> int:
    """Count the rows that a statement reads on its way."""
    with engine.connect() as conn:
        if engine.dialect.name == "postgresql":
            plan = conn.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {text_of}", params)
            return _rows_of(plan.scalar()[0]["Plan"])  # type: ignore[index]
        conn.exec_driver_sql("FLUSH STATUS")
        conn.exec_driver_sql(text_of, params).all()
        # An entry of an index that is passed over counts, too.
        wanted = "Variable_name LIKE 'Handler_read%%' OR Variable_name = 'Handler_icp_attempts'"
        counts = conn.exec_driver_sql(f"SHOW SESSION STATUS WHERE {wanted}", ())
        return sum(int(number) for _, number in counts)


def _rows_of(plan: dict[str, Any]) -> int:
    """Add up what is read from tables, where all else comes from."""
    inner = sum(_rows_of(it) for it in plan.get("Plans", []))
    left_out = plan.get("Rows Removed by Filter", 0)
    own = plan["Actual Rows"] + left_out if "Relation Name" in plan else 0
    return int(inner + own * plan["Actual Loops"])


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_rule_04_the_end_of_a_long_history_is_read_without_the_rest(store: SqlAlchemyStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("first")])
    engine = engine_of(store)
    table = store._runner.here()._worker._tables.message.name
    if engine.dialect.name == "postgresql":
        # What the server knows of the table is what it was when it was small.
        with engine.begin() as conn:
            conn.exec_driver_sql(f"ANALYZE {table}")
    for start in range(0, 3_000, 500):
        store.append(ADA, "s", [say(f"m{start + n}") for n in range(500)])
    asked: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda *args: asked.append((args[2], args[3])))
    store.read(ADA, "s", Read(backwards=True, limit=50))
    (only,) = asked
    assert 50 <= rows_read(engine, *only) < 300


@pytest.mark.parametrize("database", ["mariadb", "postgres"], indirect=True)
def test_a_page_of_documents_is_read_without_the_others(store: SqlAlchemyStore) -> None:
    engine = engine_of(store)
    store.create_session(ADA, NewSession(id="s"))
    new = [DocumentPut(key=f"k/{n:04}", value=b"") for n in range(1_000)]
    store.put_documents(ADA, "s", new)
    table = store._runner.here()._worker._tables.document.name
    if engine.dialect.name == "postgresql":
        with engine.begin() as conn:
            conn.exec_driver_sql(f"ANALYZE {table}")
    asked: list[tuple[str, Any]] = []
    event.listen(engine, "before_cursor_execute", lambda *args: asked.append((args[2], args[3])))
    for reverse in (False, True):
        asked.clear()
        options: dict[str, Any] = {"after": "k/0500", "limit": 10, "reverse": reverse}
        assert len(store.list_documents(ADA, "k/", session="s", **options)) == 10
        [page] = [it for it in asked if table in it[0]]
        assert 10 <= rows_read(engine, *page) <= 40


def test_the_statements_of_a_search_do_not_grow_with_what_is_searched(
    store: SqlAlchemyStore,
) -> None:
    for n in range(30):
        store.create_session(ADA, NewSession(id=f"s{n}", title=f"of {n}"))
        store.append(ADA, f"s{n}", [say(None, f"Where is it, {m}?") for m in range(40)])
        store.append(ADA, f"s{n}", [say(None, "ÜBER allen Gipfeln")])
    store.append(ADA, "s7", [say("rare", "In the WareHouse")])
    store.add_overlay(ADA, "s7", cover("rare", "rare", id="o"))
    for n in (3, 4):
        store.create_session(
            ADA, fork_of(f"s{n}", store.find_session(ADA, f"s{n}").tip, id=f"f{n}")
        )  # type: ignore[union-attr, arg-type]
        store.delete_session(ADA, f"s{n}")
    for text_of, most in (("warehouse", 8), ("über", 9), ("where", 15), ("wher* OR über", 15)):
        for session in (None, "s7"):
            search = Search(text=text_of, session=session, limit=5)
            assert (
                len(statements_of(store, lambda search=search: store.search(ADA, search))) <= most
            )
    found = store.search(ADA, Search(text="über", limit=100)).hits
    assert {hit.session for hit in found} == {*(f"s{n}" for n in range(30)), "f3", "f4"} - {
        "s3",
        "s4",
    }
    assert [hit.entry.id for hit in store.search(ADA, Search(text="WAREHOUSE")).hits] == ["rare"]


async def test_appends_that_arrive_together_go_out_together(database: Database) -> None:
    import asyncio

    async with AsyncSqlAlchemyStore.from_url(database.url(), new_id=new_id) as store:
        for n in range(20):
            await store.create_session(ADA, NewSession(id=f"s{n}"))
            await store.append(ADA, f"s{n}", [say("m0")])
        commits: list[object] = []
        core = store._runner.here()._engine.sync_engine
        event.listen(core, "commit", note := lambda conn: commits.append(conn))
        await asyncio.gather(*(store.append(ADA, f"s{n}", [say("m1")]) for n in range(20)))
        await asyncio.gather(*(store.append(ADA, "s0", [say(None)]) for n in range(5)))
        event.remove(core, "commit", note)
        assert len(commits) < 16
        for n in range(1, 20):
            assert shown(await store.read(ADA, f"s{n}", Read())) == ["m0", "m1"]
        assert len((await store.read(ADA, "s0", Read())).messages_only) == 7
        assert await store.admin.check() == []


def test_the_ends_of_a_page_are_found_by_one_statement(store: SqlAlchemyStore) -> None:
    for n in range(20):
        store.create_session(ADA, NewSession(id=f"s{n}"))
        store.append(ADA, f"s{n}", [say(f"{n}.{k}") for k in range(40)])
    names = [f"s{n}" for n in range(20)]
    words = statements_of(store, lambda: store.find_recent(ADA, names, document="read/bob"))
    assert [it for it in words if it not in ("COMMIT", "ROLLBACK")] == ["WITH"]

"""Listings on PostgreSQL go over the rows that they find, as the server says itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from servers import postgres

from sapwood.model import NewSession, SessionQuery
from sapwood.stores.postgres import PostgresStore
from sapwood.stores.postgres._sync.tx import Tx
from sapwood.testing.makers import ADA

from .test_postgres_plans import new_id, nodes, rows_met

MANY = 300


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    postgres.empty(0)
    with PostgresStore(postgres_url, schema=postgres.schema(0), new_id=new_id) as store:
        for owner in (ADA, "bob"):
            for n in range(2):
                new = NewSession(id=f"f{n}", title="found", tags=["found", "all"], state="found")
                store.create_session(owner, new)
        for n in range(MANY):
            new = NewSession(id=f"s{n}", title="other", tags=["other", "all"], state="other")
            store.create_session(ADA, new)
        yield store


def rows_gone_over(store: PostgresStore, monkeypatch: pytest.MonkeyPatch, call: Any) -> float:
    """Count the rows that a call's statements go over, where indexes are preferred."""
    asked: list[tuple[str, Any]] = []
    rows = Tx.rows

    def noting(self: Tx, text: str, args: Any = (), **more: Any) -> list[Any]:
        asked.append((text, args))
        return rows(self, text, args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Tx, "rows", noting)
        call()
    schema, met = store._runner.here()._schema, 0.0
    with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
        raw.execute(f"ANALYZE {schema}.session, {schema}.profile, {schema}.tag".encode())
        # Of so few rows the server would read all, and sort them.
        raw.execute("SET enable_seqscan = off")
        raw.execute("SET enable_sort = off")
        for text, args in asked:
            explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {text.replace('{s}', schema)}".encode()
            [[[plan]]] = raw.execute(explain, args).fetchall()
            met += sum(rows_met(it) for it in nodes(plan["Plan"]) if "Relation Name" in it)
    return met


ASKED: list[dict[str, Any]] = [
    {"tags": ["found", "all"]},
    {"title_prefix": "found"},
    {"state": "found"},
    {"state": "found", "kind": None},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_a_look_up_goes_over_what_it_finds(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    for order in ("active", "created", "updated"):
        query = SessionQuery(order=order, **asked)
        assert len(store.list_sessions(ADA, query).sessions) == 2
        met = rows_gone_over(store, monkeypatch, lambda q=query: store.list_sessions(ADA, q))
        assert 0 < met <= 20


def test_a_page_goes_over_what_is_on_it(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order in ("active", "created", "updated"):
        for reverse in (False, True):
            query = SessionQuery(order=order, reverse=reverse, limit=5)
            page = store.list_sessions(ADA, query)
            for cursor in (None, page.cursor):
                at = SessionQuery(order=order, reverse=reverse, limit=5, cursor=cursor)
                met = rows_gone_over(store, monkeypatch, lambda q=at: store.list_sessions(ADA, q))
                assert 0 < met <= 40


def test_sessions_of_all_owners_are_found_without_the_others(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = SessionQuery(state="found")
    assert len(store.admin.list_sessions(query).sessions) == 4
    met = rows_gone_over(store, monkeypatch, lambda: store.admin.list_sessions(query))
    assert 0 < met <= 20

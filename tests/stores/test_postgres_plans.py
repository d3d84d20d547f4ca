"""How PostgreSQL goes about the store's own statements, as it says itself."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from servers import postgres

from sapwood.model import NewSession, Search
from sapwood.rules.ids import IdMaker
from sapwood.stores.postgres import PostgresStore
from sapwood.stores.postgres._sync.tx import Tx
from sapwood.testing.makers import ADA, cover, say

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)
MANY = 3_000
INDEXED = """
SELECT i.relname, t.relname FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_am a ON a.oid = i.relam AND a.amname = 'gin'
WHERE i.relnamespace = to_regnamespace(%s) AND t.relkind = 'r'
"""


@pytest.fixture(params=[0, 3], ids=["plain", "partitions"])
def store(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[PostgresStore]:
    postgres.empty(request.param)
    schema = postgres.schema(request.param)
    with PostgresStore(
        postgres_url, schema=schema, partitions=request.param, new_id=new_id
    ) as store:
        store.create_session(ADA, NewSession(id="s"))
        for start in range(0, MANY, 500):
            texts = [f"word{n} and what all have" for n in range(start, start + 500)]
            store.append(ADA, "s", [say(f"m{n}", text) for n, text in enumerate(texts, start)])
        store.add_overlay(ADA, "s", cover("m1", "m2", id="o", summary="word1 and word2"))
        yield store


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@pytest.fixture
def asked(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Note what a store asks for."""
    found: list[tuple[str, Any]] = []
    rows = Tx.rows

    def noting(self: Tx, text: str, args: Any = (), *, often: bool = False) -> list[Any]:
        found.append((text, args))
        return rows(self, text, args, often=often)

    monkeypatch.setattr(Tx, "rows", noting)
    return found


def rows_met(node: dict[str, Any]) -> float:
    """Count the rows that a step of a plan went over, also those that it left out."""
    met: float = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return met * node["Actual Loops"]


def test_the_gaps_of_the_end_of_a_path_are_found_without_going_over_its_beginning(
    store: PostgresStore, asked: list[tuple[str, Any]]
) -> None:
    schema = store._runner.here()._schema
    store.delete_messages(ADA, "s", ["m5", f"m{MANY - 3}"])
    asked.clear()
    gaps = store.list_gaps(ADA, "s", f"m{MANY - 1}", after=MANY - 10)
    assert [gap.id for gap in gaps] == [f"m{MANY - 3}"]
    [(text, args)] = [it for it in asked if "body IS NULL" in it[0]]
    with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
        raw.execute(f"VACUUM ANALYZE {schema}.message".encode())
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {text.replace('{s}', schema)}".encode()
        [[[plan]]] = raw.execute(explain, args).fetchall()
    scans = [it for it in nodes(plan["Plan"]) if it.get("Alias", "").startswith("m")]
    assert 0 < sum(map(rows_met, scans)) <= 10


def test_a_search_asks_the_index_of_words_and_reads_no_table_through(
    store: PostgresStore, asked: list[tuple[str, Any]]
) -> None:
    schema = store._runner.here()._schema
    found = store.search(ADA, Search(text="word77", session="s")).hits
    assert [hit.entry.id for hit in found] == ["m77"]
    [(text, args)] = [it for it in asked if "@@" in it[0]]
    with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
        # As the server does by itself, some time after so many were written.
        raw.execute(f"VACUUM ANALYZE {schema}.message".encode())
        explain = f"EXPLAIN (FORMAT JSON) {text.replace('{s}', schema)}".encode()
        [[[usual]]] = raw.execute(explain, args).fetchall()
        # The table of summaries is so small that it is read faster than its index.
        raw.execute("SET enable_seqscan = off")
        [[[forced]]] = raw.execute(explain, args).fetchall()
        indices = raw.execute(INDEXED, (schema,)).fetchall()
    of_messages = {index for index, table in indices if table.startswith("message")}
    used = [{it.get("Index Name") for it in nodes(plan["Plan"])} for plan in (usual, forced)]
    assert {table.partition("_p")[0] for _, table in indices} == {"message", "overlay"}
    # Partitions in which there is nothing are read through.
    assert of_messages & used[0]
    assert {index for index, _ in indices} <= used[1]
    read = {it["Relation Name"] for it in nodes(usual["Plan"]) if it["Node Type"] == "Seq Scan"}
    assert "message" not in read


def test_a_page_of_documents_is_read_by_the_index_of_their_keys(
    store: PostgresStore, asked: list[tuple[str, Any]]
) -> None:
    schema = store._runner.here()._schema
    for session in ("s", None):
        for n in range(300):
            store.put_document(ADA, f"k/{n:04}", b"", session=session)
        for reverse in (False, True):
            asked.clear()
            options: dict[str, Any] = {"after": "k/0150", "limit": 10, "reverse": reverse}
            assert len(store.list_documents(ADA, "k/", session=session, **options)) == 10
            [(text, args)] = [it for it in asked if ".document" in it[0]]
            with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
                raw.execute(f"VACUUM ANALYZE {schema}.document".encode())
                explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {text.replace('{s}', schema)}".encode()
                [[[plan]]] = raw.execute(explain, args).fetchall()
            scans = [it for it in nodes(plan["Plan"]) if "Relation Name" in it]
            assert 10 <= sum(map(rows_met, scans)) <= 11


def test_the_ends_of_paths_are_found_by_one_statement_that_reads_no_more_than_them(
    store: PostgresStore, asked: list[tuple[str, Any]]
) -> None:
    schema = store._runner.here()._schema
    for n in range(20):
        store.create_session(ADA, NewSession(id=f"small{n}"))
        store.append(ADA, f"small{n}", [say(f"{n}.{k}") for k in range(40)])
    asked.clear()
    names = ["s", *(f"small{n}" for n in range(20))]
    found = store.find_recent(ADA, names, document="read/bob")
    assert [it and it.messages[-1].id for it in found[:2]] == [f"m{MANY - 1}", "0.39"]
    [(text, args)] = asked
    with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
        for table in ("message", "segment", "session", "document", "directory"):
            raw.execute(f"VACUUM ANALYZE {schema}.{table}".encode())
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {text.replace('{s}', schema)}".encode()
        [[[plan]]] = raw.execute(explain, args).fetchall()
    scans = [it for it in nodes(plan["Plan"]) if it.get("Alias", "").startswith("m")]
    assert 0 < sum(map(rows_met, scans)) <= (32 + 4) * len(names)

"""What the PostgreSQL store has of its own: partitions, the index, repair, opening by URL."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from servers import postgres
from servers.url import with_parameters

import sapwood
from sapwood.errors import StaleVersionError, StoreCorruptError, UsageError
from sapwood.model import NewMessage, NewSession, Read, Search, TextPart, Usage
from sapwood.rules.ids import IdMaker
from sapwood.rules.query import parse
from sapwood.stores.postgres import PostgresStore
from sapwood.stores.postgres.words import question
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

from .derived import (
    ANOTHER_PREVIOUS,
    DATA_DAMAGES,
    LISTING_DAMAGES,
    LOST_MARK,
    LOST_VALUE,
    data_of,
    furnish_data,
    furnish_listing,
    listing_of,
)

# What finds a tree is not in one itself, nor is what holds for all of them.
DIRECTORY = {"owner", "directory", "tag", "reader", "migration", "floor"}
new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    postgres.empty()
    with PostgresStore(postgres_url, schema=postgres.schema(), new_id=new_id) as store:
        yield store


def run(text: str, schema: str = "") -> None:
    with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
        raw.execute(text.replace("{s}", schema or postgres.schema()).encode())


def damage_tables(text: str) -> None:
    """Run a statement that names tables behind a pair of braces."""
    run(text.replace("{}", "{s}.").replace("BYTES", "bytea"))


def furnish(store: PostgresStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    for id in ("m1", "m2", "m3", "m4"):
        store.append(ADA, "s", [say(id, tokens=2)])
    store.append(ADA, "s", [say("x1"), say("x2")], parent="m2")
    store.create_session(ADA, fork_of("s", "m3"))
    store.append(ADA, "fork", [say("f1")])
    store.update_message(ADA, "s", say("m1", "changed", tokens=50))
    store.checkout(ADA, "s", "m4")
    store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
    store.finish_deletions()


def rows(text: str, schema: str = "") -> list[tuple[Any, ...]]:
    with psycopg.connect(postgres.shared_url() or "", autocommit=True) as raw:
        return raw.execute(text.replace("{s}", schema or postgres.schema()).encode()).fetchall()


def test_the_tree_is_in_every_key_of_every_table_but_the_directory(store: PostgresStore) -> None:
    store.admin.migrate()
    keys = rows(
        "SELECT c.relname, (SELECT array_agg(a.attname) FROM pg_attribute a"
        " WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey))"
        " FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisunique"
        " WHERE c.relnamespace = '{s}'::regnamespace"
    )
    assert len(keys) > 15
    assert {table for table, columns in keys if "tree" not in columns} == DIRECTORY


@pytest.fixture
def parted(postgres_url: str) -> Iterator[PostgresStore]:
    schema = f"{postgres.schema()}_parts"
    run("DROP SCHEMA IF EXISTS {s} CASCADE", schema)
    with PostgresStore(postgres_url, schema=schema, new_id=new_id, partitions=4) as store:
        yield store
    run("DROP SCHEMA {s} CASCADE", schema)


def test_all_that_is_in_a_tree_lies_in_partitions_of_one_number(parted: PostgresStore) -> None:
    schema = f"{postgres.schema()}_parts"
    for n in range(12):
        owner, session = f"o{n}", NewSession(id="s")
        parted.create_session(owner, session)
        parted.append(owner, "s", [say("m1"), say("m2")])
        parted.create_session(owner, fork_of("s", "m1"))
        parted.append(owner, "fork", [say("f1")])
        parted.put_document(owner, "k", b"", session="s")
        parted.put_document(owner, "k", b"")
        parted.add_usage(owner, "s", Usage(id="u", model="m"))
        parted.add_overlay(owner, "s", cover("m1", "m2", id="o"))
    tables = ("session", "profile", "segment", "message", "document", "usage", "overlay", "change")
    placed: dict[int, set[str]] = {}
    for table in tables:
        found = rows(f"SELECT DISTINCT tree, tableoid::regclass::text FROM {{s}}.{table}", schema)
        for tree, part in found:
            placed.setdefault(tree, set()).add(part.rpartition("_")[2])
    assert all(len(parts) == 1 for parts in placed.values())
    of_trees = {part for tree, (part, *_) in placed.items() if tree > 0}
    of_owners = {part for tree, (part, *_) in placed.items() if tree < 0}
    assert len(placed) == 24
    assert len(of_trees) > 1
    assert len(of_owners) > 1


_APPEND = "SELECT {s}.append_one(%s, 's', NULL, true, 'new', 'user', 1, NULL, 'x', '')"
_APPEND_WITH = """
SELECT {s}.append_with(%s, 's', NULL, '{new}', 'm2', false, NULL, false, '{new}', '{user}', '{1}',
    '{NULL}', '{x}', '{word}', '{}', '{}', NULL, '{a,b,c}', '{x,y,NULL}', '{0,NULL,0}',
    '{NULL,5,NULL}', '{t,f,t}', '{title}', 't', NULL, NULL, NULL, NULL, NULL, NULL, NULL, true)
"""
_READ = "SELECT {s}.read_path(%s, 's', NULL, false, true, 0, 99, true, 5)"
_TOUCHED = (
    "SELECT relname FROM pg_stat_xact_user_tables"
    " WHERE schemaname = %s AND seq_scan + coalesce(idx_scan, 0) + n_tup_ins > 0"
)


@pytest.mark.parametrize("call", [_APPEND, _APPEND_WITH, _READ])
def test_a_call_touches_one_partition_of_each_table(parted: PostgresStore, call: str) -> None:
    schema = f"{postgres.schema()}_parts"
    furnish(parted)
    with psycopg.connect(postgres.shared_url() or "") as raw:
        raw.execute(call.replace("{s}", schema).encode(), (ADA,))
        found = [name for (name,) in raw.execute(_TOUCHED, (schema,)) if "_p" in name]
    assert {"session", "message"} <= {name.rpartition("_p")[0] for name in found}
    assert len({name.rpartition("_p")[2] for name in found}) == 1


def test_an_append_leaves_the_indexes_of_sessions_alone(store: PostgresStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")])
    schema = postgres.schema()
    text = f"SELECT {schema}.append_one(%s, 's', 1, false, %s, 'user', 1, NULL, 'x', '')"
    changed = (
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables"
        " WHERE schemaname = %s AND relname = 'session'"
    )
    with psycopg.connect(postgres.shared_url() or "") as raw:
        for id in ("m2", "m3", "m4"):
            raw.execute(text.encode(), (ADA, id))
        # The first of them brought the session to another second, which is indexed.
        assert raw.execute(changed, (schema,)).fetchall() == [(3, 2)]


def test_partitioned_tables_are_read_forked_cleared_and_checked(parted: PostgresStore) -> None:
    furnish(parted)
    assert shown(parted.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
    assert shown(parted.read(ADA, "fork", Read())) == ["m1", "m2", "m3", "f1"]
    parted.clear_session(ADA, "s")
    parted.append(ADA, "s", [say("again")])
    parted.finish_deletions()
    assert shown(parted.read(ADA, "s", Read())) == ["again"]
    assert parted.admin.check() == []


@pytest.mark.parametrize("count", [-1, 1.5, "4", True, 5000])
def test_a_number_of_partitions_that_is_none_is_refused(count: object) -> None:
    with pytest.raises(UsageError, match="partitions"):
        PostgresStore("postgresql://host/x", new_id=new_id, partitions=count)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", ["x", "-1", "1.5", "", "\uff15"])
def test_a_number_of_partitions_in_a_url_is_checked(count: str) -> None:
    with pytest.raises(UsageError, match="partitions"):
        sapwood.open(f"postgresql://host/x?partitions={count}")


def test_a_text_with_too_many_words_to_index_is_found(store: PostgresStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    words = " ".join(f"word{n}" for n in range(150_000))
    store.append(ADA, "s", [say("big", words), say("long", "x" * 5_000 + " end"), say("no")])
    for query, found in (
        ("word149999", ["big"]),
        ('"word7 word8"', ["big"]),
        ("word15*", ["big"]),
        ("x" * 5_000, ["long"]),
        ("x" * 4_999, []),
        ("nothing", []),
    ):
        assert [hit.entry.id for hit in store.search(ADA, Search(text=query)).hits] == found
    assert store.admin.check() == []


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("UPDATE {s}.segment SET lineage = '{}'", "segment"),
        ("UPDATE {s}.message SET path_tokens = path_tokens + 1 WHERE id = 'm2'", "message"),
        ("UPDATE {s}.message SET words = NULL WHERE id = 'm2'", "index"),
        ("UPDATE {s}.in_force SET last = last - 1", "overlay"),
        ("UPDATE {s}.session SET context = context + 1", "session"),
        ("UPDATE {s}.session SET messages = 0, overlays = 7, active_s = 0", "session"),
    ],
)
def test_damage_to_what_is_derived_is_found_and_repaired(
    store: PostgresStore, damage: str, kind: str
) -> None:
    furnish(store)
    before = [store.read(ADA, session, Read()) for session in ("s", "fork")]
    records = [store.find_session(ADA, session) for session in ("s", "fork")]
    run(damage)
    assert kind in {problem.kind for problem in store.admin.check()}
    assert store.admin.repair() == []
    assert [store.read(ADA, session, Read()) for session in ("s", "fork")] == before
    assert [store.find_session(ADA, session) for session in ("s", "fork")] == records


@pytest.mark.parametrize("name", LISTING_DAMAGES)
def test_rule_14_what_sessions_are_found_by_is_rebuilt_from_their_records(
    store: PostgresStore, name: str
) -> None:
    furnish_listing(store)
    before = listing_of(store)
    assert store.admin.check() == []
    damage_tables(LISTING_DAMAGES[name])
    assert {it.kind for it in store.admin.check()} == {"session"}
    assert store.admin.repair() == []
    assert listing_of(store) == before


@pytest.mark.parametrize("damage", [*DATA_DAMAGES.values(), ANOTHER_PREVIOUS])
def test_rule_14_where_data_stands_is_rebuilt(store: PostgresStore, damage: str) -> None:
    furnish_data(store)
    before = data_of(store)
    assert store.admin.check() == []
    damage_tables(damage)
    assert store.admin.check() != []
    assert store.admin.repair() == []
    assert data_of(store) == before


@pytest.mark.parametrize("damage", [LOST_MARK, LOST_VALUE])
def test_rule_08_data_that_is_lost_is_told_and_not_repaired(
    store: PostgresStore, damage: str
) -> None:
    furnish_data(store)
    damage_tables(damage)
    for problems in (store.admin.check(), store.admin.repair()):
        assert [it.kind for it in problems] == ["data"]


def test_rule_08_a_body_that_cannot_be_decoded_is_told_and_not_repaired(
    store: PostgresStore,
) -> None:
    furnish(store)
    run("UPDATE {s}.message SET body = 'x' WHERE id = 'm4'")
    with pytest.raises(StoreCorruptError, match="m4"):
        store.read(ADA, "s", Read())
    assert [(it.kind, it.where) for it in store.admin.repair()] == [("message", "m4")]


def test_a_summary_is_shown_in_a_window_inside_it_however_narrow(store: PostgresStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"m{n}") for n in range(1, 9)])
    store.add_overlay(ADA, "s", cover("m2", "m6", id="o"))
    for after, before, count in ((3, 5, 1), (4, 5, 1), (5, 3, 1), (6, 3, 0), (6, 8, 1)):
        window = Read(after=after, before=before)
        told = store.read(ADA, "s", window)
        assert len(told.entries) == count
        assert told == store.read(ADA, "s", replace(window, max_bytes=10_000))


def words_of(session: str) -> set[str]:
    """Give who may find what a session wrote, as its words say."""
    [(found,)] = rows(
        "SELECT words::text FROM {s}.message m JOIN {s}.session s USING (tree, home)"
        f" WHERE s.id = '{session}'"
    )
    return {word.strip("'") for word in found.split(" ")}


def test_rule_13_a_search_finds_nothing_of_others_though_the_index_says_so(
    store: PostgresStore,
) -> None:
    for owner, session in (("ada", "a"), ("bob", "b")):
        store.create_session(owner, NewSession(id=session))
        store.append(owner, session, [say("m", "a secret")])
    [of_ada] = (word for word in words_of("a") if word.startswith("_o"))
    run(f"UPDATE {{s}}.message SET words = words || array_to_tsvector('{{{of_ada}}}')")
    assert of_ada in words_of("b")
    found = store.search("ada", Search(text="secret"))
    assert [hit.session for hit in found.hits] == ["a"]


def test_rule_13_the_index_gives_candidates_of_one_owner_only(store: PostgresStore) -> None:
    for owner in ("ada", "bob"):
        store.create_session(owner, NewSession(id=owner))
        store.append(owner, owner, [say(f"of {owner}", "a secret")])
    [(number,)] = rows("SELECT number FROM {s}.owner WHERE name = 'ada'")
    asked = question(parse("secret"), number, [])
    with psycopg.connect(postgres.shared_url() or "") as raw:
        text = f"SELECT id FROM {postgres.schema()}.message WHERE words @@ %s::tsquery"
        assert raw.execute(text.encode(), (asked,)).fetchall() == [("of ada",)]


def test_sessions_open_by_url(postgres_url: str) -> None:
    postgres.empty()
    url = with_parameters(postgres_url, schema=postgres.schema(), application_name="a test")
    with sapwood.open(url, owner="ada") as sessions:
        chat = sessions.session("chat", title="with a \0 in it")
        chat.append("user", "Where is my order?")
        assert [it.text for it in chat.history().messages_only] == ["Where is my order?"]
        assert sessions.store.find_session("ada", "chat").title == "with a \0 in it"
        with pytest.raises(UsageError, match="the server's"):
            sapwood.open(url, durability="normal")
    with pytest.raises(UsageError, match="schema"):
        sapwood.open(with_parameters(postgres_url, schema="a.b"))


async def test_the_async_twin_opens_by_url(postgres_url: str) -> None:
    postgres.empty()
    url = with_parameters(postgres_url, schema=postgres.schema())
    async with sapwood.open_async(url, owner="ada") as sessions:
        chat = await sessions.session("chat")
        message = await chat.append("user", "hello")
        assert abs(message.created_us - time.time_ns() // 1000) < 60_000_000


def test_the_clock_is_the_servers_where_none_is_given(store: PostgresStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    text = NewMessage(role="user", parts=[TextPart(text="x")])
    first, second = (store.append(ADA, "s", [text]).messages[0] for _ in range(2))
    assert 0 < second.created_us - first.created_us < 60_000_000
    document = store.put_document(ADA, "k", b"", expires_in_s=0.01)
    assert document.expires_us == document.updated_us + 10_000
    time.sleep(0.02)
    assert store.find_document(ADA, "k") is None


def test_a_store_takes_a_connection_string_or_a_pool() -> None:
    with pytest.raises(UsageError):
        PostgresStore(new_id=new_id)


def test_rule_09_of_many_that_take_an_owners_lease_one_succeeds(store: PostgresStore) -> None:
    def count(_: int) -> int:
        done = 0
        while done < 5:
            found = store.find_document(ADA, "k")
            value = b"%d" % (int(found.value) + 1 if found else 1)
            version = found.version if found else 0
            with contextlib.suppress(StaleVersionError):
                store.put_document(ADA, "k", value, expected_version=version)
                done += 1
        return done

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(count, range(4))) == 20
    found = store.find_document(ADA, "k")
    assert found is not None
    assert found.value == b"20"

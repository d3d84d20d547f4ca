"""A user with exactly the rights that a store's page names can use all of the store."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from redis import Redis
from servers import mariadb, postgres, redis, redis_cluster

from sapwood.errors import StoreError
from sapwood.model import (
    DocumentDelete,
    DocumentPut,
    Fence,
    NewSession,
    Read,
    Search,
    SessionPatch,
    SessionQuery,
    Usage,
)
from sapwood.rules.ids import IdMaker
from sapwood.stores.postgres import AsyncPostgresStore, PostgresStore
from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.stores.sqlalchemy import AsyncSqlAlchemyStore, SqlAlchemyStore
from sapwood.testing.machine.driver import Driver
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

DOCS = Path(__file__).resolve().parents[2] / "docs"
PASSWORD = "a-test"
new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


def documented(page: str, pattern: str) -> list[str]:
    """Read the rights that a page names, so that it cannot say another thing than is tried."""
    [found] = re.findall(pattern, (DOCS / page).read_text())
    return [found] if isinstance(found, str) else list(found)


def limited() -> str:
    """Name a user that is this process's own."""
    return f"sapwood_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_limited"


class Opened:
    """A store of either twin, for the machine's driver."""

    def __init__(self, open_store: Callable[[], Any]) -> None:
        self.open = open_store

    def discard(self) -> None:
        """Leave it to the next one, which begins by emptying it."""


@pytest.fixture
def drive() -> Iterator[Callable[[Callable[[], Any]], Driver]]:
    with ExitStack() as stack:

        def drive(open_store: Callable[[], Any]) -> Driver:
            driver = Driver(Opened(open_store))
            stack.callback(driver.end)
            return driver

        yield drive


def use_everything(driver: Driver) -> None:
    """Make every kind of call there is."""
    call = driver.call
    call("create_session", ADA, NewSession(id="s"))
    for n in range(1, 5):
        call("append", ADA, "s", [say(f"m{n}", f"message {n}"), say(None, "more")])
    assert call("append", ADA, "s", [say("m4", "message 4")]).written == 0
    assert len(call("read", ADA, "s", Read()).messages_only) == 8
    assert len(call("read", ADA, "s", Read(limit=2, backwards=True)).messages_only) == 2
    for id, detach in (("fork", False), ("apart", True)):
        call("create_session", ADA, fork_of("s", "m2", id=id, detach=detach))
        call("append", ADA, id, [say(f"{id}1")])
    call("update_message", ADA, "s", say("m1", "said otherwise"))
    call("checkout", ADA, "s", "m4")
    call("add_overlay", ADA, "s", cover("m2", "m3", id="o"))
    assert shown(call("read", ADA, "s", Read()))[2:3] == ["<o>"]
    call("undo_overlay", ADA, "s", "o")
    call("update_session", ADA, "s", SessionPatch(title="A title"))
    call("put_document", ADA, "k", b"v", session="s")
    along = {"documents": [DocumentPut(key="k", value=b"w"), DocumentDelete(key="l")]}
    call("append", ADA, "s", [say("m5")], **along, patch=SessionPatch(merge={"n": 1}))
    put = call("append", ADA, "s", [say("m6")], **along, patch=SessionPatch(state="done"))
    fence = Fence(key="k", version=put.documents["k"])
    call("put_documents", ADA, "s", [DocumentDelete(key="k")], fence=fence)
    call("put_document", ADA, "k", b"v", expires_in_s=60)
    call("delete_document", ADA, "k")
    call("add_usage", ADA, "s", Usage(id="u", model="m", input_tokens=1))
    assert len(call("total_usage", ADA, "s")) == 1
    found = call("search", ADA, Search(text="otherwise OR apart1")).hits
    assert {hit.entry.id for hit in found} == {"m1", "apart1"}
    assert len(call("list_sessions", ADA, SessionQuery()).sessions) == 3
    assert call("changes", ADA).changes
    call("delete_messages", ADA, "s", ["m1"])
    call("clear_session", ADA, "apart")
    call("delete_session", ADA, "s")
    call("finish_deletions")
    assert [it.id for it in call("read", ADA, "fork", Read()).messages_only][-1] == "fork1"
    assert call("statistics", ADA).sessions == 2
    assert driver.check() == []
    admin = driver.store.admin
    assert driver._finish(admin.health()).writable
    assert driver._finish(admin.schema_version()) == driver._finish(admin.migrate())
    assert driver._finish(admin.repair()) == []
    assert driver._finish(admin.list_owners()) == [ADA]
    call("erase_owner", ADA)
    assert driver._finish(admin.list_owners()) == []


# Redis


def rules_for(server: Any) -> list[str]:
    [keys, rights] = documented("redis.md", r"access list needs `~(prefix:\*)` and `([^`]+)`")
    [more] = documented("redis.md", r"On a cluster it needs `([^`]+)`, too")
    given = f"{rights} {more}" if server is redis_cluster else rights
    return [f"~{keys.replace('prefix', redis.prefix())}", *given.split()]


@pytest.fixture(params=["redis", "redis_cluster"])
def redis_user(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give the URL of a server, or of a cluster, with a user of the documented rights."""
    given: str = request.getfixturevalue(f"{request.param}_url")
    server = {"redis": redis, "redis_cluster": redis_cluster}[request.param]
    server.empty()
    address = urlsplit(given)
    command = ("ACL SETUSER", limited(), "reset", "on", f">{PASSWORD}", *rules_for(server))
    with Redis.from_url(given.replace("+cluster", "")) as one:
        nodes = [one]
        if server is redis_cluster:
            nodes = [node.redis_connection for node in redis_cluster.client().get_nodes()]
        for node in nodes:
            node.execute_command(*command)
        yield f"{address.scheme}://{limited()}:{PASSWORD}@{address.hostname}:{address.port}"
        for node in nodes:
            node.execute_command("ACL DELUSER", limited())


@pytest.mark.parametrize("kind", [RedisStore, AsyncRedisStore])
def test_a_user_of_redis_with_the_documented_rights_can_do_all_there_is(
    redis_user: str, kind: Callable[..., Any], drive: Callable[..., Driver]
) -> None:
    use_everything(drive(lambda: kind(redis_user, prefix=redis.prefix(), new_id=new_id)))


@pytest.mark.parametrize("kind", [RedisStore, AsyncRedisStore])
def test_a_user_of_redis_with_the_documented_rights_reaches_no_other_keys(
    redis_user: str, kind: Callable[..., Any], drive: Callable[..., Driver]
) -> None:
    driver = drive(lambda: kind(redis_user, prefix=f"other-{redis.prefix()}", new_id=new_id))
    with pytest.raises(StoreError) as told:
        driver.call("create_session", ADA, NewSession(id="s"))
    assert not told.value.retryable


# The driver leaves the connection open on which it was told so.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", [RedisStore, AsyncRedisStore])
def test_a_server_that_is_no_cluster_is_told_and_not_to_be_tried_again(
    redis_url: str, kind: Callable[..., Any], drive: Callable[..., Driver]
) -> None:
    url = redis_url.replace("redis", "redis+cluster", 1)
    driver = drive(lambda: kind(url, prefix=redis.prefix(), new_id=new_id))
    with pytest.raises(StoreError, match="no node of a cluster") as told:
        driver.call("find_session", ADA, "s")
    assert type(told.value) is StoreError
    assert not told.value.retryable
    del told
    gc.collect()


# PostgreSQL

GRANTS = r"\| `USAGE` \| the schema, and its sequences \|\n\| `([A-Z, ]+)` \| all tables"


@pytest.fixture(params=[0, 3], ids=["plain", "partitions"])
def postgres_user(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Give what a store is opened with by a role of the documented rights."""
    parts = request.param
    postgres.empty(parts)
    options = {"schema": postgres.schema(parts), "partitions": parts, "new_id": new_id}
    with PostgresStore(postgres_url, **options) as store:
        store.admin.migrate()
    [tables] = documented("postgres.md", GRANTS)
    schema, role = sql.Identifier(postgres.schema(parts)), sql.Identifier(limited())
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        for text in (
            f"CREATE ROLE {{role}} LOGIN PASSWORD '{PASSWORD}'",
            "GRANT USAGE ON SCHEMA {schema} TO {role}",
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
            f"GRANT {tables} ON ALL TABLES IN SCHEMA {{schema}} TO {{role}}",
        ):
            raw.execute(sql.SQL(text).format(schema=schema, role=role))
        yield {
            "conninfo": psycopg.conninfo.make_conninfo(
                postgres_url, user=limited(), password=PASSWORD
            ),
            **options,
        }
        raw.execute(sql.SQL("DROP OWNED BY {role}").format(role=role))
        raw.execute(sql.SQL("DROP ROLE {role}").format(role=role))


@pytest.mark.parametrize("kind", [PostgresStore, AsyncPostgresStore])
def test_a_role_of_postgresql_with_the_documented_rights_can_do_all_there_is(
    postgres_user: dict[str, Any], kind: Callable[..., Any], drive: Callable[..., Driver]
) -> None:
    use_everything(drive(lambda: kind(**postgres_user)))


# MariaDB

NEEDS = r"The user needs `([A-Z, ]+)` on the tables, and `([A-Z, ]+)` for whoever sets them up"


@pytest.fixture
def mariadb_user(mariadb_url: str) -> Iterator[Callable[[bool], str]]:
    """Give what makes a user of the documented rights, to set tables up or not."""
    address = urlsplit(mariadb_url)
    database = address.path.removeprefix("/")
    to_use, to_set_up = documented("sqlalchemy.md", NEEDS)

    def make(may_set_up: bool) -> str:
        rights = f"{to_use}, {to_set_up}" if may_set_up else to_use
        mariadb.rows(f"CREATE OR REPLACE USER '{limited()}'@'%' IDENTIFIED BY '{PASSWORD}'")
        mariadb.rows(f"GRANT {rights} ON `{database}`.* TO '{limited()}'@'%'")
        at = f"{limited()}:{PASSWORD}@{address.hostname}:{address.port}"
        return f"mariadb://{at}/{database}"

    yield make
    mariadb.rows(f"DROP USER IF EXISTS '{limited()}'@'%'")


@pytest.mark.parametrize("kind", [SqlAlchemyStore, AsyncSqlAlchemyStore])
def test_a_user_of_mariadb_with_the_documented_rights_can_do_all_there_is(
    mariadb_url: str,
    mariadb_user: Callable[[bool], str],
    kind: Any,
    drive: Callable[..., Driver],
) -> None:
    prefix = f"{limited()}_"
    try:
        url = f"{mariadb_user(True)}?prefix={prefix}"
        driver = drive(lambda: kind.from_url(url, new_id=new_id))
        assert driver._finish(driver.store.admin.migrate()) == 4
        mariadb_user(False)
        use_everything(drive(lambda: kind.from_url(url, new_id=new_id)))
    finally:
        drop_tables(prefix)


def drop_tables(prefix: str) -> None:
    pattern = prefix.replace("_", r"\_")
    for (table,) in mariadb.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = database()"
        f" AND table_name LIKE '{pattern}%'"
    ):
        mariadb.rows(f"DROP TABLE `{table}`")

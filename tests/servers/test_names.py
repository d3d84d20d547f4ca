"""What tests put on a server that others use has a name of the tests' own, and goes at the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from redis import Redis

from . import mariadb, mongodb, opensearch, postgres, redis
from .names import OURS, own, pattern_of
from .url import with_database, with_parameters

TESTS = Path(__file__).resolve().parents[1]


def test_every_name_begins_with_ours_and_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not as parameters: every process has to collect the same tests.
    names = [
        own("x"),
        postgres.schema(),
        postgres.schema(3),
        redis.prefix(),
        mariadb.prefix(),
        mongodb.database(),
        opensearch.prefix(),
    ]
    assert all(name.startswith(own()) for name in names)
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")
    assert own("x_") == f"{OURS}_gw7_x_"


def test_a_worker_does_not_take_for_its_own_what_is_anothers() -> None:
    assert pattern_of("a_gw1_") == r"a\_gw1\_%"


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("redis://h/0", "redis://h/0?prefix=a"),
        ("redis://h/0?", "redis://h/0?prefix=a"),
        (
            "postgresql://u:p%3F@h/d?sslmode=require",
            "postgresql://u:p%3F@h/d?sslmode=require&prefix=a",
        ),
    ],
)
def test_a_parameter_is_added_to_those_that_are_there(url: str, more: str) -> None:
    assert with_parameters(url, prefix="a") == more


def test_what_a_parameter_says_is_quoted() -> None:
    assert with_parameters("a://b", c="d e&f") == "a://b?c=d%20e%26f"


@pytest.mark.parametrize(
    ("url", "there"),
    [
        ("mongodb://h", "mongodb://h/d"),
        ("mongodb://h/", "mongodb://h/d"),
        ("mongodb://h/other", "mongodb://h/d"),
        ("mongodb://h/?replicaSet=rs0", "mongodb://h/d?replicaSet=rs0"),
        ("mongodb://h,i?replicaSet=rs0", "mongodb://h,i/d?replicaSet=rs0"),
    ],
)
def test_a_database_is_put_before_the_options(url: str, there: str) -> None:
    assert with_database(url, "d") == there


@pytest.mark.parametrize(
    ("url", "secure", "hosts"),
    [
        ("opensearch://h", False, [{"host": "h", "port": 9200}]),
        (
            "opensearch+https://u:p@h:1,i:2/",
            True,
            [{"host": "h", "port": 1}, {"host": "i", "port": 2}],
        ),
    ],
)
def test_opensearch_is_reached_as_the_store_reaches_it(
    url: str, secure: bool, hosts: list[dict[str, object]]
) -> None:
    given = opensearch.options_of(url)
    assert (given["use_ssl"], given["hosts"]) == (secure, hosts)
    assert given.get("http_auth") == (("u", "p") if secure else None)


def run_on(variable: str, url: str, *tests: str) -> None:
    """Run tests in another process, on a server that is given by its URL."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(TESTS.parent / "src"), variable: url}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", *tests],
        cwd=TESTS.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout


@pytest.mark.skipif(redis.program() is None, reason=redis.MISSING)
def test_on_a_redis_that_is_given_nothing_is_left_and_nothing_else_is_touched() -> None:
    server = redis.RedisServer(*redis.FAST)
    try:
        with Redis(port=server.port) as raw:
            theirs = {b"mine", b"sapwood:schema", b"sapwood_test:mine", b"sapwood_testing"}
            for key in theirs:
                raw.set(key, b"1")
            run_on(redis.VARIABLE, server.url(), "tests/stores/redis/test_keys.py")
            assert {*raw.keys()} == theirs
            assert raw.info("stats")["total_connections_received"] > 10, "they ran on another"
    finally:
        server.remove()


@pytest.mark.skipif(postgres.program("postgres") is None, reason=postgres.MISSING)
def test_on_a_postgres_that_is_given_nothing_is_left_and_nothing_else_is_touched() -> None:
    server = postgres.PostgresServer(*postgres.FAST)
    names = (
        "SELECT schemaname || '.' || tablename FROM pg_tables"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    )
    theirs = {"public.chat_mine", "public.rn_mine", "public.sapwood_testing", "sapwood_test.mine"}
    try:
        with psycopg.connect(server.url(), autocommit=True) as raw:
            raw.execute("CREATE SCHEMA sapwood_test")
            for name in theirs:
                raw.execute(f"CREATE TABLE {name} (x int)".encode())
            run_on(
                postgres.VARIABLE,
                server.url(),
                "tests/stores/sqlalchemy/test_names.py",
                "tests/stores/test_postgres.py",
                "-k",
                "postgres and (names or extra or partitions or url or refused)",
            )
            assert {name for (name,) in raw.execute(names.encode())} == theirs
            left = raw.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'sapwood%'")
            assert [name for (name,) in left] == ["sapwood_test"]
    finally:
        server.remove()

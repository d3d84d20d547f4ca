"""PostgreSQL for tests: one that is given by its URL, or one of our own.

Our own is started from the system's package when it is first asked for, once in each process that
runs tests, and is stopped at the end. It does not wait for the disk unless that is asked for.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
from functools import cache
from pathlib import Path

import psycopg

from . import running
from .alone import be_alone_on
from .names import own, pattern_of
from .process import Folder, free_port, wait_for_port
from .seen import note_once

VARIABLE = "SAPWOOD_TEST_POSTGRES_URL"
MISSING = f"there is no PostgreSQL: run `make servers`, or set {VARIABLE}"
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum_naptime=10s")
_CLUSTER = ("--encoding=UTF8", "--locale=C", "--no-sync")
_ACCESS = """
local all all trust
host all needs_password 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
"""


def program(name: str) -> Path | None:
    """Find one of the server's programs, of the newest version."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=_version)
    if installed:
        return installed[-1]
    found = shutil.which(name)
    return Path(found) if found else None


def _version(path: Path) -> int:
    number = path.parents[1].name
    return int(number) if number.isdigit() else 0


class PostgresServer:
    """A server that can be stopped, killed and started again."""

    def __init__(self, *settings: str) -> None:
        initdb, self._postgres = program("initdb"), program("postgres")
        if initdb is None or self._postgres is None:
            raise FileNotFoundError(MISSING)
        self._folder = Folder("pg", "postgres")
        self._data = self._folder.path / "data"
        self.port = free_port()
        self._settings = [
            f"port={self.port}",
            "listen_addresses=127.0.0.1",
            f"unix_socket_directories={self._folder.path}",
            "max_connections=200",
            *settings,
        ]
        self._folder.run([initdb, "-D", self._data, "-U", "tester", "--auth=trust", *_CLUSTER])
        (self._data / "pg_hba.conf").write_text(_ACCESS)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        note_once(PostgresServer, lambda: version_of(self.url()))

    def start(self) -> None:
        assert self._postgres is not None
        options = [part for setting in self._settings for part in ("-c", setting)]
        self._process = self._folder.start([self._postgres, "-D", self._data, *options])
        wait_for_port(self.port, self._process, self._folder.path / "log")
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        while True:
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError as error:
                if "starting up" not in str(error) and "recovery" not in str(error):
                    raise
            else:
                return

    def url(self, *, user: str = "tester", database: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def kill(self) -> None:
        """Kill it and all that it started, as the kernel would."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Let it end its connections and go."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def remove(self) -> None:
        self.stop()
        self._folder.remove()


@cache
def shared_url() -> str | None:
    """Give the server of this process of tests; None when none can be had."""
    given = running.given(VARIABLE, "postgres")
    if given:
        atexit.register(forget, given)
        return given
    try:
        server = PostgresServer(*FAST)
    except FileNotFoundError:
        return None
    atexit.register(server.remove)
    return server.url()


def alone() -> None:
    """Keep the tests of other processes away until this test ends, where the server is shared."""
    url = running.given(VARIABLE, "postgres")
    if url:
        be_alone_on(url)


def version() -> str:
    """Tell which server this is."""
    return version_of(shared_url() or "")


def version_of(url: str) -> str:
    with psycopg.connect(url) as raw:
        return f"PostgreSQL {raw.info.server_version // 10000}.{raw.info.server_version % 10000}"


def schema(partitions: int = 0) -> str:
    """Give a schema that is this process's own, one for tables of so many partitions."""
    return own(f"in_{partitions}") if partitions else own()


@cache
def _connection(schema: str) -> psycopg.Connection[tuple[str, ...]]:
    raw = psycopg.connect(shared_url() or "", autocommit=True)
    raw.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
    atexit.register(raw.close)
    return raw


def empty(partitions: int = 0) -> None:
    """Empty the schema of this process; its tables stay, so that each test begins at once."""
    alone()
    name = schema(partitions)
    raw = _connection(name)
    tables = raw.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s)"
        " AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migration'",
        (name,),
    ).fetchall()
    raw.execute("; ".join(f"DELETE FROM {name}.{table}" for (table,) in tables).encode())


def run(statement: str) -> None:
    """Run a statement behind the store's back."""
    with psycopg.connect(shared_url() or "", autocommit=True) as raw:
        raw.execute(statement.encode())


def forget(url: str) -> None:
    """Remove all that this process put on a server."""
    with psycopg.connect(url, autocommit=True) as raw:
        found = raw.execute(
            "SELECT 'SCHEMA', quote_ident(nspname) FROM pg_namespace"
            " WHERE nspname = %(own)s OR nspname LIKE %(pattern)s"
            " UNION ALL SELECT 'TABLE', format('%%I.%%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname = current_schema() AND tablename LIKE %(pattern)s",
            {"own": own(), "pattern": pattern_of(own(""))},
        ).fetchall()
        for kind, name in found:
            raw.execute(f"DROP {kind} {name} CASCADE".encode())

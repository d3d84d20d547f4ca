"""MariaDB for tests: one that is given by its URL, or one of our own.

Our own is started from the system's package when it is first asked for, once in each run of
tests, and is stopped at the end. It does not wait for the disk unless that is asked for.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import time
from functools import cache
from typing import Any

import pymysql
from sqlalchemy.engine import make_url

from . import running, whole_run
from .names import own, pattern_of
from .process import Folder, free_port, wait_for_port
from .seen import note_once

VARIABLE = "SAPWOOD_TEST_MARIADB_URL"
MISSING = f"there is no MariaDB: run `make servers`, or set {VARIABLE}"
FAST = ("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0")
DATABASE = "sapwood"


class MariaDbServer:
    """A server that can be stopped, killed and started again."""

    def __init__(self, *settings: str) -> None:
        install, server = shutil.which("mariadb-install-db"), shutil.which("mariadbd")
        if install is None or server is None:
            raise FileNotFoundError(MISSING)
        self._server = server
        self._folder = Folder("my", "mysql")
        self._data = self._folder.path / "data"
        # A server that starts clears the temporary tables away: in a folder that it shares with
        # others, theirs too.
        self._own_tmpdir = f"--tmpdir={self._folder.path}"
        self.port = free_port()
        self._settings = settings
        self._folder.run(
            [
                install,
                "--no-defaults",
                f"--datadir={self._data}",
                self._own_tmpdir,
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ]
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        with self.connect("") as raw, raw.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            cursor.execute("CREATE USER 'needs_password'@'%' IDENTIFIED BY 'right'")
            cursor.execute(f"GRANT ALL ON {DATABASE}.* TO 'needs_password'@'%'")
        note_once(MariaDbServer, lambda: version_of(self.url()))

    def start(self) -> None:
        self._process = self._folder.start(
            [
                self._server,
                "--no-defaults",
                f"--datadir={self._data}",
                self._own_tmpdir,
                f"--port={self.port}",
                "--bind-address=127.0.0.1",
                f"--socket={self._folder.path}/s.sock",
                f"--pid-file={self._folder.path}/pid",
                "--skip-name-resolve",
                "--max-connections=200",
                # The collation that an unwary database has: ids must not be compared by it.
                "--character-set-server=latin1",
                "--collation-server=latin1_swedish_ci",
                *self._settings,
            ]
        )
        wait_for_port(self.port, self._process, self._folder.path / "log")
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                self.connect("").close()
            except pymysql.err.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def connect(self, database: str = DATABASE) -> Any:
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", database=database, autocommit=True
        )

    def url(self, *, user: str = "root", database: str = DATABASE) -> str:
        return f"mariadb://{user}@127.0.0.1:{self.port}/{database}"

    def kill(self) -> None:
        """Kill it, as the kernel would."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Let it end its connections and go."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def remove(self) -> None:
        self.stop()
        self._folder.remove()


@cache
def shared_url() -> str | None:
    """Give the server of this run of tests; None when none can be had."""
    given = running.given(VARIABLE, "mariadb")
    if given:
        atexit.register(forget, given)
        return given
    return whole_run.url_of("mariadb")


@cache
def connection() -> Any:
    """Give a connection to the server of this process of tests, for looking behind the store."""
    raw = connect(shared_url() or "")
    atexit.register(raw.close)
    return raw


def connect(text: str) -> Any:
    """Connect to where a URL says."""
    url = make_url(text)
    return pymysql.connect(
        host=url.host,
        port=url.port or 3306,
        user=url.username,
        password=url.password or "",
        database=url.database,
        autocommit=True,
    )


def rows(statement: str) -> list[tuple[Any, ...]]:
    """Run a statement behind the store's back."""
    return _rows(connection(), statement)


def _rows(raw: Any, statement: str) -> list[tuple[Any, ...]]:
    with raw.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def version() -> str:
    """Tell which server this is."""
    return version_of(shared_url() or "")


def version_of(url: str) -> str:
    with connect(url) as raw:
        return f"MariaDB {_rows(raw, 'SELECT version()')[0][0]}"


def prefix() -> str:
    """Give a prefix of table names that is this process's own."""
    return own("")


_NAMED = (
    "SELECT table_name FROM information_schema.tables"
    " WHERE table_schema = database() AND table_name LIKE '{}'"
)


def empty(of_prefix: str | None = None) -> None:
    """Empty the tables of this process; they stay, so that each test begins at once."""
    found = _NAMED.format(pattern_of(of_prefix or prefix()))
    for (table,) in rows(rf"{found} AND table_name NOT LIKE '%\_migration'"):
        rows(f"DELETE FROM `{table}`")


def forget(url: str) -> None:
    """Remove all that this process put on a server."""
    with connect(url) as raw:
        for (table,) in _rows(raw, _NAMED.format(pattern_of(prefix()))):
            _rows(raw, f"DROP TABLE `{table}`")

"""Short ways to open a store, write to it, and look into its file from outside."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from sapwood.model import NewMessage, NewSession, Read, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore
from sapwood.stores.sqlite.database import Database
from sapwood.stores.sqlite.index.file import checksum_vfs

ADA = "ada"


def clock() -> int:
    return time.time_ns() // 1000


new_id = IdMaker(clock, os.urandom)


def open_store(path: str | Path, **options: Any) -> SqliteStore:
    return SqliteStore(path, clock=clock, new_id=new_id, **options)


def open_async_store(path: str | Path, **options: Any) -> AsyncSqliteStore:
    return AsyncSqliteStore(path, clock=clock, new_id=new_id, **options)


def say(id: str | None, text: str | None = None) -> NewMessage:
    """Write a message of one text; without a text, it says its own id."""
    return NewMessage(id=id, role="user", parts=[TextPart(text=(text or id or "hello"))])


def make_session(store: SqliteStore, session: str) -> None:
    store.create_session(ADA, NewSession(id=session))


def ids_in(store: SqliteStore, session: str, after: int = 0) -> list[str]:
    """Give the ids on the path to a session's tip."""
    return [it.id for it in store.read(ADA, session, Read(after=after)).messages_only]


def fill(store: SqliteStore, session: str, count: int, text: str = "x" * 80) -> None:
    """Append many messages, a thousand at a time."""
    for start in range(0, count, 1_000):
        batch = [say(f"{session}-{n}", text) for n in range(start, min(start + 1_000, count))]
        store.append(ADA, session, batch)


@contextmanager
def raw(path: str | Path) -> Iterator[apsw.Connection]:
    """Open the file with the plain driver; an index as those do who keep its checksums."""
    vfs = checksum_vfs() if str(path).endswith("-search") else None
    connection = apsw.Connection(str(path), vfs=vfs)
    connection.set_busy_timeout(30_000)
    try:
        yield connection
    finally:
        connection.close()


def value(path: str | Path, sql: str) -> Any:
    """Ask the file one thing with the plain driver."""
    with raw(path) as connection:
        return connection.execute(sql).fetchall()[0][0]


def assert_sound(path: str | Path) -> None:
    """Open the file anew and look for damage of any kind."""
    with open_store(path) as store:
        assert store.admin.check() == []


def writer_of(store: SqliteStore | AsyncSqliteStore) -> Any:
    """Give a store's writer: a few tests have to see how many callers wait for it."""
    runner = store._runner
    database = runner if isinstance(runner, Database) else runner._database  # type: ignore[attr-defined]
    return database._writer


def writer_connection(store: SqliteStore | AsyncSqliteStore) -> apsw.Connection:
    """Give the driver's connection that a store writes with."""
    connection: apsw.Connection = writer_of(store)._tx.raw
    return connection


def run_in_threads(*targets: Any, timeout_s: float = 120) -> None:
    """Run functions side by side; raise what the first of them raised."""
    errors: list[BaseException] = []

    def guarded(target: Any) -> None:
        try:
            target()
        except BaseException as error:  # noqa: BLE001  raised again by the caller
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(it,), daemon=True) for it in targets]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


def wait_until(condition: Any, timeout_s: float = 30) -> None:
    """Wait for something to come true."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.005)

"""One of several processes that write to one file at once.

`python crowd.py file number messages` opens it, waits for a line, and lets threads append (in the
last process also tasks of an event loop). It prints what went wrong, one line for each.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.support import ADA, open_async_store, open_store, say
from sapwood.errors import SapwoodError
from sapwood.stores.sqlite import AsyncSqliteStore, SqliteStore

THREADS = 8
SHARED = ("shared-0", "shared-1")


def session_for(process: int, writer: int, n: int) -> str:
    """Say where a writer's n-th message goes: by turns to shared sessions and to its own."""
    return SHARED[n // 2 % 2] if n % 2 else f"own-{process}-{writer}"


def message_id(process: int, writer: int, n: int) -> str:
    return f"{process}.{writer}.{n}"


def write_from_thread(store: SqliteStore, process: int, writer: int, count: int) -> None:
    for n in range(count):
        message = say(message_id(process, writer, n))
        store.append(ADA, session_for(process, writer, n), [message])


async def write_from_task(store: AsyncSqliteStore, process: int, writer: int, count: int) -> None:
    for n in range(count):
        message = say(message_id(process, writer, n))
        await store.append(ADA, session_for(process, writer, n), [message])


def report(work: Callable[[], None]) -> None:
    try:
        work()
    except (SapwoodError, Exception) as error:  # noqa: BLE001  the parent judges it
        os.write(1, f"{type(error).__name__}: {error}\n".encode())


def run_threads(path: str, process: int, count: int) -> None:
    with open_store(path) as store:
        ready()
        threads = [
            threading.Thread(
                target=report,
                args=(lambda writer=writer: write_from_thread(store, process, writer, count),),
            )
            for writer in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


async def run_tasks(path: str, process: int, count: int) -> None:
    async with open_async_store(path) as store:
        ready()
        await asyncio.gather(*(write_from_task(store, process, w, count) for w in range(THREADS)))


def ready() -> None:
    os.write(1, b"ready\n")
    sys.stdin.readline()


if __name__ == "__main__":
    file, number, messages = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if number == 0:
        report(lambda: asyncio.run(run_tasks(file, number, messages)))
    else:
        report(lambda: run_threads(file, number, messages))

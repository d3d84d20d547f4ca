"""A process that forks after it opened a store, and tells what parent and child could do.

`python forked.py file way` prints one JSON object: what each call came to in the child, how the
child ended, and what the parent could do after it.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.support import ADA, fill, make_session, open_async_store, open_store, say
from sapwood.model import NewSession, Read, SessionQuery
from sapwood.stores.sqlite import inheritance

CALLS: dict[str, Callable[[Any], Any]] = {
    "read": lambda store: store.read(ADA, "s", Read()),
    "find_session": lambda store: store.find_session(ADA, "s"),
    "list_sessions": lambda store: store.list_sessions(ADA, SessionQuery()),
    "find_document": lambda store: store.find_document(ADA, "k"),
    "check": lambda store: store.admin.check(),
    "schema_version": lambda store: store.admin.schema_version(),
    "append": lambda store: store.append(ADA, "s", [say("child")]),
    "create_session": lambda store: store.create_session(ADA, NewSession(id="child")),
    "delete_session": lambda store: store.delete_session(ADA, "s"),
    "finish_deletions": lambda store: store.finish_deletions(),
}


def try_all(store: Any) -> dict[str, str]:
    told = {}
    for name, call in CALLS.items():
        try:
            call(store)
            told[name] = "ok"
        except Exception as error:  # noqa: BLE001  the parent judges it
            told[name] = f"{type(error).__name__}: {error}"
    store.close()
    return told


async def try_all_async(store: Any) -> dict[str, str]:
    told = {}
    for name, call in CALLS.items():
        try:
            await asyncio.wait_for(call(store), 5)
            told[name] = "ok"
        except Exception as error:  # noqa: BLE001  the parent judges it
            told[name] = f"{type(error).__name__}: {error}"
    await asyncio.wait_for(store.aclose(), 5)
    return told


def fork(body: Callable[[], dict[str, str]], leave: Callable[[int], Any]) -> dict[str, Any]:
    """Run a body in a forked child; give what it told and how it ended."""
    note = Path(tempfile.mkdtemp()) / "note"
    child = os.fork()
    if child == 0:
        note.write_text(json.dumps(body()))
        leave(0)
    status = wait_for(child)
    told = json.loads(note.read_text()) if note.exists() else {}
    shutil.rmtree(note.parent)
    return {"status": status, "told": told}


def wait_for(child: int) -> int | str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hung"


def with_sync_store(path: str, leave: Callable[[int], Any]) -> dict[str, Any]:
    store = open_store(path)
    make_session(store, "s")
    store.append(ADA, "s", [say("before")])
    found = fork(lambda: try_all(store), leave)
    store.append(ADA, "s", [say("after")])
    found["parent"] = [it.id for it in store.read(ADA, "s", Read()).messages_only]
    store.close()
    return found


def with_async_store(path: str) -> dict[str, Any]:
    store = open_async_store(path)

    async def begin() -> None:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("before")])

    async def end() -> list[str]:
        await store.append(ADA, "s", [say("after")])
        history = await store.read(ADA, "s", Read())
        await store.aclose()
        return [it.id for it in history.messages_only]

    asyncio.run(begin())
    found = fork(lambda: asyncio.run(try_all_async(store)), os._exit)
    found["parent"] = asyncio.run(end())
    return found


def with_multiprocessing(path: str) -> dict[str, Any]:
    store = open_store(path)
    make_session(store, "s")
    store.append(ADA, "s", [say("before")])
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    process = context.Process(target=lambda: told.put(try_all(store)))
    process.start()
    found: dict[str, Any] = {"told": told.get(timeout=60)}
    process.join(60)
    found["status"] = process.exitcode
    store.append(ADA, "s", [say("after")])
    found["parent"] = [it.id for it in store.read(ADA, "s", Read()).messages_only]
    store.close()
    return found


def while_writing(path: str) -> dict[str, Any]:
    """Fork again and again while threads write, with locks held at whatever moment."""
    store = open_store(path)
    make_session(store, "s")
    stop = threading.Event()
    written: list[str] = []

    def write(writer: int) -> None:
        n = 0
        while not stop.is_set():
            store.append(ADA, "s", [say(f"{writer}.{n}")])
            written.append(f"{writer}.{n}")
            n += 1

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    ways = [os._exit, sys.exit] * 15
    results = [fork(lambda: try_all(store), leave) for leave in ways]
    stop.set()
    for thread in threads:
        thread.join()
    found = [it.id for it in store.read(ADA, "s", Read()).messages_only]
    store.close()
    kinds = {text.partition(":")[0] for it in results for text in it["told"].values()}
    return {
        "statuses": sorted({str(it["status"]) for it in results}),
        "kinds": sorted(kinds),
        "lost": len(set(written) - set(found)),
        "written": len(written),
    }


def while_sweeping(path: str) -> dict[str, Any]:
    """Fork again and again while a thread removes rows; each child opens a store of its own."""
    store = open_store(path)
    for session in "abcd":
        make_session(store, session)
        fill(store, session, 5_000)
    for session in "abcd":
        store.delete_session(ADA, session)
    statuses = []
    while len(statuses) < 100 and "sapwood-sweeper" in {it.name for it in threading.enumerate()}:
        mine = f"{path}.{len(statuses)}"
        statuses.append(str(fork(lambda mine=mine: open_another(mine), os._exit)["status"]))
        if statuses[-1] != "0":
            break
    store.close()
    return {"statuses": sorted(set(statuses)), "forks": len(statuses)}


def open_another(path: str) -> dict[str, str]:
    with open_store(path) as store:
        make_session(store, "s")
    return {}


def reopened_in_child(path: str) -> dict[str, Any]:
    """Do what the error says: open it again in the child."""
    store = open_store(path)
    make_session(store, "s")

    def body() -> dict[str, str]:
        with open_store(path) as mine:
            mine.append(ADA, "s", [say("child")])
        return {}

    found = fork(body, sys.exit)
    store.append(ADA, "s", [say("after")])
    found["parent"] = [it.id for it in store.read(ADA, "s", Read()).messages_only]
    store.close()
    return found


def outlived_by_child(path: str) -> dict[str, Any]:
    """Close the parent's store while the child writes to its own of the same file."""
    store = open_store(path)
    make_session(store, "s")
    store.append(ADA, "s", [say("before")])
    closed, told = os.pipe()

    def body() -> dict[str, str]:
        mine = open_store(path)
        mine.append(ADA, "s", [say("child-0")])
        os.read(closed, 1)
        for n in range(1, 12):
            mine.append(ADA, "s", [say(f"child-{n}")])
        return {}

    def close() -> None:
        with open_store(path) as another:
            while another.find_messages(ADA, "s", ["child-0"]) == [None]:
                time.sleep(0.01)
        store.close()
        os.write(told, b"x")

    closing = threading.Timer(0, close)
    child = os.fork()
    if child == 0:
        body()
        os._exit(0)
    closing.start()
    status = wait_for(child)
    closing.join()
    with open_store(path) as after:
        stored = [it.id for it in after.read(ADA, "s", Read()).messages_only]
    return {"status": status, "stored": stored}


def reopened_while_working(path: str) -> dict[str, Any]:
    """Fork again and again while a loop writes; each child writes to the same file."""
    store = open_async_store(path)
    written: list[str] = []
    statuses: list[int | str] = []

    def body(fork: int) -> None:
        with open_store(path, patience_s=10) as mine:
            for n in range(5):
                mine.append(ADA, "s", [say(f"child-{fork}.{n}")])

    async def write(writer: int, done: asyncio.Event) -> None:
        n = 0
        while not done.is_set():
            await store.append(ADA, "s", [say(f"{writer}.{n}")])
            written.append(f"{writer}.{n}")
            n += 1

    async def work() -> list[str]:
        done = asyncio.Event()
        await store.create_session(ADA, NewSession(id="s"))
        writers = [asyncio.create_task(write(writer, done)) for writer in range(3)]
        for fork in range(40):
            await asyncio.sleep(0.01)
            child = os.fork()
            if child == 0:
                try:
                    body(fork)
                    os._exit(0)
                except BaseException:  # noqa: BLE001  told by the status
                    traceback.print_exc()
                    os._exit(1)
            statuses.append(await asyncio.to_thread(wait_for, child))
            written.extend(f"child-{fork}.{n}" for n in range(5))
        done.set()
        await asyncio.gather(*writers)
        found = await store.read(ADA, "s", Read())
        await store.aclose()
        return [it.id for it in found.messages_only]

    stored = asyncio.run(work())
    return {"statuses": sorted({str(it) for it in statuses}), "lost": len(set(written) - {*stored})}


def not_at_rest(path: str) -> dict[str, Any]:
    """Fork while a write does not come to its end; the child then opens another file."""
    inheritance.FORK_PATIENCE_S = 0.2
    store = open_store(path)
    make_session(store, "s")
    is_inside, may_end = threading.Event(), threading.Event()

    def linger(unit: Any) -> None:
        is_inside.set()
        may_end.wait()

    lingering = threading.Thread(target=lambda: store._runner.write(linger))
    lingering.start()
    is_inside.wait()

    def body() -> dict[str, str]:
        try:
            open_store(f"{path}.other")
        except Exception as error:  # noqa: BLE001  the parent judges it
            return {"open": f"{type(error).__name__}: {error}"}
        return {}

    found = fork(body, os._exit)
    may_end.set()
    lingering.join()
    store.append(ADA, "s", [say("after")])
    store.close()
    return found


WAYS: dict[str, Callable[[str], dict[str, Any]]] = {
    "_exit": lambda path: with_sync_store(path, os._exit),
    "sys.exit": lambda path: with_sync_store(path, sys.exit),
    "async": with_async_store,
    "multiprocessing": with_multiprocessing,
    "while writing": while_writing,
    "while sweeping": while_sweeping,
    "reopened": reopened_in_child,
    "outlived": outlived_by_child,
    "reopened while working": reopened_while_working,
    "not at rest": not_at_rest,
}

if __name__ == "__main__":
    result = json.dumps(WAYS[sys.argv[2]](sys.argv[1]))
    sys.stdout.write(result)

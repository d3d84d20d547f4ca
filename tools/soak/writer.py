"""A client that appends until it is told to end: `writer.py url name ledger sync|async`.

What it had sent before it was killed, and was not told about, it sends first, under the same ids.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from ledger import SESSIONS, Ledger, Noted, session_of

import sapwood
from sapwood.errors import SapwoodError, StoreError
from sapwood.model import NewMessage, TextPart

OWNER = "soak"
PAUSE_S = 0.02

is_over = threading.Event()


class Lane:
    """One of the writers of this process: a thread, or a task."""

    def __init__(self, name: str, lane: int, ledger: Ledger, noted: Noted) -> None:
        self._ledger = ledger
        self._open = [id for id in noted.open if id.split("-")[1] == f"{lane}"]
        self._new = (f"{name}-{lane}-{n}" for n in count(noted.next_number(lane)))

    def ids(self) -> Iterator[str]:
        """Yield what to send next, until it is over: nothing is left in between."""
        for id in self._open:
            self._ledger.note("retry", id)
            yield id
        while not is_over.is_set():
            yield next(self._new)

    def failed(self, id: str, error: Exception) -> bool:
        """Note an error; return whether the same is to be sent again."""
        is_ours = isinstance(error, StoreError) and error.retryable
        self._ledger.note("retry" if is_ours else "wrong", f"{id} {error!r}")
        return is_ours

    def write(self, store: Any) -> None:
        """Append, one after the other."""
        for id in self.ids():
            self._ledger.note("begin", id)
            is_sent = False
            while not is_sent:
                try:
                    store.append(OWNER, session_of(id), [message(id)])
                except Exception as error:  # noqa: BLE001 - whatever comes is to be told
                    is_sent = not self.failed(id, error)
                    time.sleep(PAUSE_S)
                else:
                    is_sent = True
                    self._ledger.note("done", id)
            time.sleep(PAUSE_S)

    async def write_async(self, store: Any) -> None:
        """Append, one after the other, beside other tasks."""
        for id in self.ids():
            self._ledger.note("begin", id)
            is_sent = False
            while not is_sent:
                try:
                    await store.append(OWNER, session_of(id), [message(id)])
                except Exception as error:  # noqa: BLE001 - whatever comes is to be told
                    is_sent = not self.failed(id, error)
                    await asyncio.sleep(PAUSE_S)
                else:
                    is_sent = True
                    self._ledger.note("done", id)
            await asyncio.sleep(PAUSE_S)


def message(id: str) -> NewMessage:
    """Make a message whose text is its id."""
    return NewMessage(id=id, role="user", parts=[TextPart(text=id)])


async def write_async(url: str, lanes: list[Lane]) -> None:
    """Write with tasks."""
    async with sapwood.open_async(url, owner=OWNER) as sessions:
        await asyncio.gather(*(lane.write_async(sessions.store) for lane in lanes))


def write(url: str, lanes: list[Lane]) -> None:
    """Write with threads."""
    with sapwood.open(url, owner=OWNER) as sessions:
        threads = [threading.Thread(target=lane.write, args=(sessions.store,)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main() -> None:
    """Write until the input ends."""
    # Not a signal, which might come before it can be taken.
    threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
    url, name, path, twin = sys.argv[1:]
    noted, ledger = Noted(Path(path)), Ledger(Path(path))
    lanes = [Lane(name, n, ledger, noted) for n in range(SESSIONS)]
    try:
        asyncio.run(write_async(url, lanes)) if twin == "async" else write(url, lanes)
    except SapwoodError as error:
        ledger.note("wrong", f"at the end: {error!r}")


if __name__ == "__main__":
    main()

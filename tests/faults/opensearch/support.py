"""Short ways to open a store on a server, and to write to it."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from sapwood.errors import StoreError
from sapwood.model import NewMessage, NewSession, Read, TextPart
from sapwood.rules.ids import IdMaker
from sapwood.stores.opensearch import AsyncOpenSearchStore, OpenSearchStore

ADA = "ada"
WRITERS = 3


def clock() -> int:
    return time.time_ns() // 1000


new_id = IdMaker(clock, os.urandom)


def open_store(url: str, prefix: str, **options: Any) -> OpenSearchStore:
    return OpenSearchStore(url, prefix=prefix, new_id=new_id, **options)


def open_async_store(url: str, prefix: str, **options: Any) -> AsyncOpenSearchStore:
    return AsyncOpenSearchStore(url, prefix=prefix, new_id=new_id, **options)


def say(id: str | None, text: str | None = None) -> NewMessage:
    return NewMessage(id=id, role="user", parts=[TextPart(text=text or id or "hello")])


def make_session(store: OpenSearchStore, session: str = "s") -> None:
    store.create_session(ADA, NewSession(id=session))


def ids_in(store: Any, session: str = "s") -> list[str]:
    return [it.id for it in store.read(ADA, session, Read()).messages]


class Writers:
    """Threads that append, each to its own session, and note what they were told."""

    def __init__(self, store: OpenSearchStore, pause_s: float = 0.0) -> None:
        self._store = store
        self._pause_s = pause_s
        self._stop = threading.Event()
        self.told: list[list[str]] = [[] for _ in range(WRITERS)]
        self.failed: list[StoreError] = []
        self.wrong: list[BaseException] = []
        self._threads = [threading.Thread(target=self._write, args=(w,)) for w in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, writer: int) -> None:
        told = self.told[writer]
        while not self._stop.is_set():
            id = f"w{writer}-{len(told)}"
            try:
                self._store.append(ADA, f"s{writer}", [say(id)])
            except StoreError as error:
                # The same id again: it is written once, whatever became of it.
                self.failed.append(error)
                time.sleep(0.05)
            except BaseException as error:  # noqa: BLE001 - raised by the test
                self.wrong.append(error)
                return
            else:
                told.append(id)
                time.sleep(self._pause_s)

    def wait_for_more(self, count: int = 20) -> None:
        seen = sum(map(len, self.told))
        while sum(map(len, self.told)) < seen + count and not self.wrong:
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self.wrong:
            raise self.wrong[0]

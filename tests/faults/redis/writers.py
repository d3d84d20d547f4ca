"""Threads that append, and note what they were told."""

from __future__ import annotations

import threading
import time

from sapwood.errors import StoreError
from sapwood.stores.redis import RedisStore

from .support import ADA, ids_in, make_session, say

WRITERS = 4


class Writers:
    """Each writes to a session of its own; what fails is tried again under the same id."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self._stop = threading.Event()
        self.told: list[list[str]] = [[] for _ in range(WRITERS)]
        self.failed: list[StoreError] = []
        for writer in range(WRITERS):
            make_session(store, f"s{writer}")
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
                self.failed.append(error)
                time.sleep(0.05)
            else:
                told.append(id)

    def wait_for_more(self, count: int = 40) -> None:
        seen = sum(map(len, self.told))
        deadline = time.monotonic() + 60
        while sum(map(len, self.told)) < seen + count:
            assert time.monotonic() < deadline, self.failed[-1:]
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """See that all that was told is there, once and in order, and that errors say so."""
        for writer, told in enumerate(self.told):
            found = ids_in(self._store, f"s{writer}")
            if found != told:
                # The last one may have been written though its writer was told of an error.
                begun = f"w{writer}-{len(told)}"
                assert found == [*told, begun], f"{len(told)} were told of, {found[-3:]} are there"
                assert self.failed, "nobody was told of an error"
        assert all(error.retryable for error in self.failed), self.failed

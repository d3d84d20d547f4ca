"""Writers that go on while a server fails, threads or tasks, and note what they were told."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from sapwood.errors import StoreError
from sapwood.model import NewMessage, NewSession, Read, TextPart

ADA = "ada"
PATIENCE_S = 240.0
PAUSE_S = 0.05


class Noted:
    """What writers were told: each of them writes to a session, alone or with others."""

    def __init__(self, writers: int, sessions: int) -> None:
        self._sessions = [f"s{n}" for n in range(sessions)]
        self._deadline = time.monotonic() + PATIENCE_S
        self.told: list[list[str]] = [[] for _ in range(writers)]
        self.failed: list[BaseException] = []
        self.wrong: list[BaseException] = []
        self.under_way = 0

    def session_of(self, writer: int) -> str:
        return self._sessions[writer % len(self._sessions)]

    def next_of(self, writer: int) -> NewMessage:
        """Give the message to send: the same one until its writer was told that it is there."""
        id = f"w{writer}-{len(self.told[writer])}"
        return NewMessage(id=id, role="user", parts=[TextPart(text=id)])

    def note(self, error: BaseException) -> bool:
        """Note what a writer was told instead; tell whether it may try again."""
        is_ours = isinstance(error, StoreError) and error.retryable
        if is_ours and time.monotonic() < self._deadline:
            self.failed.append(error)
        else:
            self.wrong.append(error)
        return not self.wrong

    def has(self, count: int) -> bool:
        if self.wrong:
            raise self.wrong[0]
        assert time.monotonic() < self._deadline, self.failed[-1:]
        return sum(map(len, self.told)) >= count

    def compare(self, found: dict[str, list[str]]) -> None:
        """See that all that was told is there, once and in order, and nothing else."""
        for writer, told in enumerate(self.told):
            there = found[self.session_of(writer)]
            assert [id for id in there if id.startswith(f"w{writer}-")] == told
        assert sum(map(len, found.values())) == sum(map(len, self.told))


class Writers(Noted):
    """Threads that append, each to its own session; what fails is sent again by the same id."""

    def __init__(self, store: Any, writers: int = 4, pause_s: float = 0.0) -> None:
        super().__init__(writers, writers)
        self._store = store
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(w,)) for w in range(writers)]

    def __enter__(self) -> Writers:
        for session in self._sessions:
            self._store.create_session(ADA, NewSession(id=session))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        """Let each end what it is at: what is in doubt is sent until it is told of."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _write(self, writer: int) -> None:
        is_in_doubt = False
        while is_in_doubt or not self._stop.is_set():
            message = self.next_of(writer)
            try:
                self._store.append(ADA, self.session_of(writer), [message])
            except BaseException as error:  # noqa: BLE001 - noted, and raised by the test
                if not self.note(error):
                    return
                is_in_doubt = True
                time.sleep(PAUSE_S)
            else:
                is_in_doubt = False
                self.told[writer].append(str(message.id))
                time.sleep(self._pause_s)

    def wait_for_more(self, count: int = 40) -> None:
        wanted = sum(map(len, self.told)) + count
        while not self.has(wanted):
            time.sleep(0.01)

    def check(self) -> None:
        """See, once they have stopped, that what they were told is what is there."""
        self.has(0)
        found = {}
        for session in self._sessions:
            messages = self._store.read(ADA, session, Read()).messages_only
            found[session] = [it.id for it in messages]
        self.compare(found)
        assert self._store.admin.check() == []


class AsyncWriters(Noted):
    """Tasks that append, two to each session; what fails is sent again by the same id."""

    def __init__(self, store: Any, writers: int = 6) -> None:
        super().__init__(writers, writers // 2)
        self._store = store
        self._is_stopped = False
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> AsyncWriters:
        for session in self._sessions:
            await self._store.create_session(ADA, NewSession(id=session))
        self._tasks = [asyncio.create_task(self._write(w)) for w in range(len(self.told))]
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._is_stopped = True
        await asyncio.gather(*self._tasks)

    async def _write(self, writer: int) -> None:
        is_in_doubt = False
        while is_in_doubt or not self._is_stopped:
            message = self.next_of(writer)
            try:
                await self._send(writer, message)
            except Exception as error:  # noqa: BLE001 - noted, and raised by the test
                if not self.note(error):
                    return
                is_in_doubt = True
                await asyncio.sleep(PAUSE_S)
            else:
                is_in_doubt = False
                self.told[writer].append(str(message.id))

    async def _send(self, writer: int, message: NewMessage) -> None:
        self.under_way += 1
        try:
            await self._store.append(ADA, self.session_of(writer), [message])
        finally:
            self.under_way -= 1

    async def wait_for_more(self, count: int = 40) -> None:
        wanted = sum(map(len, self.told)) + count
        while not self.has(wanted):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def let_die(self, server: Any) -> None:
        """Kill the server while they wait for its answers, and start it again."""
        await self.wait_for_more()
        assert self.under_way
        # In a thread: they go on meanwhile.
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await self.wait_for_more()

    async def check(self) -> None:
        """See, once they have stopped, that what they were told is what is there."""
        self.has(0)
        found = {}
        for session in self._sessions:
            history = await self._store.read(ADA, session, Read())
            found[session] = [it.id for it in history.messages_only]
        self.compare(found)
        assert await self._store.admin.check() == []

"""The service of the examples as a process, and its clients, over plain sockets."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from .blocks import ROOT

PATIENCE_S = 60.0

RUN = """
import asyncio
import sys

sys.path.insert(0, sys.argv[1])
import service
import uvicorn

from sapwood.session._async import turn_lease

turn_lease.LEASE_S = 2.0


async def scripted(given):
    asked = [it for it in given.messages if it.role == "user"][-1].text.splitlines()[-1]

    async def words():
        for n in range(int(sys.argv[3])):
            await asyncio.sleep(float(sys.argv[4]))
            yield f"{asked}/{n} "

    return words()


app = service.make_app("sqlite:///service.db", scripted)
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", timeout_graceful_shutdown=1)
"""


class Site:
    """The server, on a port that stays the same when it is started again."""

    def __init__(self, folder: Path, words: int = 5, pause_s: float = 0.01) -> None:
        self._folder = folder
        self._script = [str(words), str(pause_s)]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, "-c", RUN, str(ROOT / "examples"), str(self.port), *self._script]
        self._process = subprocess.Popen(
            command, cwd=self._folder, stderr=subprocess.PIPE, text=True
        )

    def end(self, how: signal.Signals) -> str:
        """Send a signal, and wait; return what it said."""
        assert self._process is not None
        self._process.send_signal(how)
        return self._process.communicate(timeout=PATIENCE_S)[1]

    async def is_up(self) -> None:
        """Wait until it answers."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except OSError:
                    await asyncio.sleep(0.02)
                else:
                    writer.close()
                    return

    @asynccontextmanager
    async def asked(
        self, user: str, path: str, body: object = None, method: str = ""
    ) -> AsyncIterator[tuple[int, asyncio.StreamReader]]:
        """Send a request; give the status and what is answered; leaving hangs up."""
        data = b"" if body is None else json.dumps(body).encode()
        method = method or ("GET" if body is None else "POST")
        head = f"{method} {path} HTTP/1.0\r\nX-User: {user}\r\nContent-Type: application/json\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**20)
        try:
            writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            headers = await reader.readuntil(b"\r\n\r\n")
            yield int(headers.split()[1]), reader
        finally:
            writer.close()

    async def get(self, user: str, path: str, method: str = "GET") -> Any:
        async with self.asked(user, path, method=method) as (status, reader):
            text = await reader.read()
            assert status == 200, text
            return json.loads(text)

    async def events(
        self, user: str, path: str, body: object = None
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Give the events of an answer; a connection that breaks is a `ConnectionError`."""
        async with self.asked(user, path, body) as (status, reader):
            if status != 200:
                raise AssertionError(await reader.read())
            while line := await reader.readline():
                if line.startswith(b"data: "):
                    event: dict[str, Any] = json.loads(line[6:])
                    if event["type"] == "end":
                        return
                    yield event
            raise ConnectionResetError("the answer broke off")

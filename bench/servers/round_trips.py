"""Counting round trips: a proxy on loopback that notes when the client speaks after the server."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable


class Counter:
    """Passes bytes on to a server, and counts how often it was asked."""

    def __init__(self, url: str) -> None:
        host, port = _address(url)
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        own: int = self._listener.getsockname()[1]
        self.url = url.replace(f"{host}:{port}", f"127.0.0.1:{own}", 1)
        self._trips = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def of(self, call: Callable[[], object]) -> int:
        """Count the round trips of a call."""
        before = self._trips
        call()
        return self._trips - before

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Pipe(client, server, self._count).start()

    def _count(self) -> None:
        self._trips += 1


class _Pipe:
    """One connection; a trip begins when the client speaks and had been answered."""

    def __init__(
        self, client: socket.socket, server: socket.socket, count: Callable[[], None]
    ) -> None:
        self._client, self._server, self._count = client, server, count
        self._is_asking = False

    def start(self) -> None:
        for source, sink in ((self._client, self._server), (self._server, self._client)):
            threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                is_client = source is self._client
                if is_client and not self._is_asking:
                    self._count()
                self._is_asking = is_client
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _address(url: str) -> tuple[str, int]:
    found = re.search(r"://(?:[^@/]*@)?([^:/?]+):(\d+)", url)
    assert found, "a server's URL has a host and a port"
    return found[1], int(found[2])

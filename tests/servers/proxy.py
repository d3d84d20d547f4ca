"""A proxy on loopback that can cut connections, or swallow an answer."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Passes bytes on to a port until it is told otherwise."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._guard = threading.Lock()
        self.connections = 0
        self.swallowed = 0
        self._is_swallowing = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Drop all connections; new ones are taken."""
        with self._guard:
            for one in self._open:
                _drop(one)
            self._open.clear()

    def swallow_next_answer(self) -> None:
        """Let the next request through, and drop the connection when its answer comes."""
        self._is_swallowing = True

    def close(self) -> None:
        _drop(self._listener)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                client.close()
                continue
            with self._guard:
                self._open += [client, server]
                self.connections += 1
            for source, sink, is_answer in ((client, server, False), (server, client, True)):
                args = (source, sink, is_answer)
                threading.Thread(target=self._pass_on, args=args, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer and self._is_swallowing:
                    self._is_swallowing = False
                    self.swallowed += 1
                    break
                sink.sendall(data)
        _drop(source)
        _drop(sink)


def _drop(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()

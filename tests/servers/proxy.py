"""A proxy on loopback, for any TCP server: it cuts connections, delays, swallows and truncates."""

from __future__ import annotations

import contextlib
import socket
import threading
import time


class Proxy:
    """Passes bytes on to a port until it is told otherwise."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._guard = threading.Lock()
        self.connections = 0
        self.requests = 0
        self.swallowed = 0
        self.truncated = 0
        self.delayed = 0
        self.lost = 0
        self._losing = 0
        self._kept_bytes: int | None = None
        self._delay_s = 0.0
        self._may_pass = threading.Event()
        self._may_pass.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Drop all connections; new ones are taken."""
        with self._guard:
            for one in self._open:
                _drop(one)
            self._open.clear()

    def swallow_next_answer(self) -> None:
        """Let the next request through, and drop the connection when its answer comes."""
        self.truncate_next_answer(0)

    def truncate_next_answer(self, kept_bytes: int = 3) -> None:
        """Let the next request through, and drop the connection in the middle of its answer."""
        self._kept_bytes = kept_bytes

    def lose_next_request(self) -> None:
        """Drop the connection when the next request comes: the server never hears of it."""
        with self._guard:
            self._losing += 1

    def delay(self, seconds: float) -> None:
        """Let every answer wait for so long; 0 ends that."""
        self._delay_s = seconds

    def hold(self) -> None:
        """Pass nothing on, either way, as a network does that is gone; connections stay open."""
        self._may_pass.clear()

    def release(self) -> None:
        """Pass on what was held, and what comes."""
        self._may_pass.set()

    def restore(self) -> None:
        """Go back to passing everything on; what was asked for next and did not come is off."""
        self._kept_bytes = None
        with self._guard:
            self._losing = 0
        self.delay(0)
        self.release()

    def close(self) -> None:
        _drop(self._listener)
        self.cut()
        self.release()

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
            for work in (self._pass_requests, self._pass_answers):
                threading.Thread(target=work, args=(client, server), daemon=True).start()

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                self._may_pass.wait()
                if self._is_to_lose():
                    break
                self.requests += 1
                server.sendall(data)
        _drop(client)
        _drop(server)

    def _is_to_lose(self) -> bool:
        with self._guard:
            if not self._losing:
                return False
            self._losing -= 1
            self.lost += 1
            return True

    def _pass_answers(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if self._delay_s:
                    self.delayed += 1
                    time.sleep(self._delay_s)
                self._may_pass.wait()
                kept = self._bytes_to_keep()
                if kept is not None:
                    client.sendall(data[:kept])
                    break
                client.sendall(data)
        _drop(client)
        _drop(server)

    def _bytes_to_keep(self) -> int | None:
        with self._guard:
            kept, self._kept_bytes = self._kept_bytes, None
            if kept is not None:
                self.swallowed += kept == 0
                self.truncated += kept > 0
            return kept


def _drop(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()

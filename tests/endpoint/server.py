"""The server: it notes what it is asked, and answers what was prepared."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from . import completions, messages
from .replies import Action, Drop, Hang, Reply, Stream


class Asked(NamedTuple):
    """A request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Endpoint:
    """Speaks OpenAI's protocol under /v1/chat/completions, and Anthropic's under /v1/messages.

    What was prepared is answered in its order; after that, `usual` decides, or a plain answer.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.usual: Callable[[Asked], Action] = plain
        self.closing = threading.Event()
        self._prepared: deque[Action] = deque()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def root(self) -> str:
        """The address that Anthropic's SDK wants."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The address that OpenAI's SDK wants."""
        return f"{self.root}/v1"

    def prepare(self, *actions: Action) -> None:
        self._prepared.extend(actions)

    def action_for(self, asked: Asked) -> Action:
        self.asked.append(asked)
        return self._prepared.popleft() if self._prepared else self.usual(asked)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def plain(asked: Asked) -> Action:
    """Answer as a model would."""
    if asked.body.get("stream"):
        pieces = ("The order ", "left ", "the warehouse.")
        is_message = asked.path.endswith("/messages")
        return Stream(messages.events(*pieces) if is_message else completions.chunks(*pieces))
    if asked.path.endswith("/messages"):
        return messages.answer("The order left the warehouse; the parcel is on its way.")
    return completions.answer("The order left the warehouse; the parcel is on its way.")


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    endpoint: Endpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that is gone: tests kill them."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, json.loads(self.rfile.read(size)))
        # One answer for each connection: an idle one would keep its thread.
        self.close_connection = True
        action = self.server.endpoint.action_for(asked)
        if isinstance(action, Reply):
            self._reply(action)
        elif isinstance(action, Stream):
            self._stream(action)
        elif isinstance(action, Hang):
            self.server.endpoint.closing.wait(60)
        else:
            assert isinstance(action, Drop)

    def _reply(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {"Content-Type": reply.media_type, "Content-Length": len(reply.data)}
        for name, value in {**headers, "Connection": "close", **reply.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(reply.data)

    def _stream(self, stream: Stream) -> None:
        self.send_response(200)
        for name, value in (
            ("Content-Type", "text/event-stream"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()
        for event in stream.events:
            self._event(event if isinstance(event, str) else json.dumps(event))
            if self.server.endpoint.closing.wait(stream.pause_s):
                return
        if stream.hangs:
            self.server.endpoint.closing.wait(60)
        if not stream.drops:
            self._event("[DONE]")
            self.wfile.write(b"0\r\n\r\n")

    def _event(self, text: str) -> None:
        data = f"data: {text}\n\n".encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

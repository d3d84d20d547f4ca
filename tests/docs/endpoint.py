"""The examples' stand-in behind HTTP, as an OpenAI-compatible endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any


@contextmanager
def endpoint(standin: Any) -> Iterator[str]:
    """Serve a stand-in on this machine; give the base URL."""
    handler = type("StandInHandler", (Handler,), {"standin": standin})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    standin: Any

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            said = self.standin.create(**asked)
        except Exception as error:  # noqa: BLE001 - what the model says becomes an answer of HTTP
            body = {"error": {"message": str(error), "code": "context_length_exceeded"}}
            self._send(400, "application/json", [json.dumps(body)])
        else:
            self._send(200, *(self._stream(said) if asked.get("stream") else self._whole(said)))

    def _whole(self, said: Any) -> tuple[str, list[str]]:
        body = plain(said) | {"object": "chat.completion", "created": 0}
        body["choices"][0] |= {"index": 0, "finish_reason": "stop"}
        return "application/json", [json.dumps(body)]

    def _stream(self, said: Any) -> tuple[str, list[str]]:
        head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "stand-in"}
        events = [json.dumps(plain(chunk) | head) for chunk in said]
        return "text/event-stream", [f"data: {event}\n\n" for event in [*events, "[DONE]"]]

    def _send(self, status: int, type: str, pieces: list[str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def plain(value: Any) -> Any:
    """Give what a stand-in said as JSON."""
    if isinstance(value, SimpleNamespace):
        return {name: plain(each) for name, each in vars(value).items()}
    return [plain(each) for each in value] if isinstance(value, list) else value

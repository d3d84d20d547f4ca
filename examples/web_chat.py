"""A small web chat, with the standard library only; its messages keep the browser's ids.

    python examples/web_chat.py

Then open the address that it prints. Set OPENAI_API_KEY, and perhaps OPENAI_BASE_URL and MODEL, for
a model; without, a scripted stand-in answers. Reload the page in the middle of an answer, or send a
message twice: it is stored and answered once. The conversation is in web_chat.db.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from standin import MODEL, connect

import sapwood
from sapwood import Session, SessionManager
from sapwood.formats import input_to_openai_chat, to_ai_sdk

PAGE = Path(__file__).with_suffix(".html")
LARGEST = 100_000


class Chat:
    """One conversation with a model: a message is answered once, however often it is sent."""

    def __init__(self, session: Session, client: Any) -> None:
        self._session = session
        self._client = client
        # One answer at a time: what is sent again while it is being answered waits for that.
        self._lock = threading.Lock()

    def messages(self) -> list[Any]:
        return to_ai_sdk(self._session.history(overlays=False).messages_only)

    def say(self, id: str, text: str) -> Iterator[str]:
        """Store what the user said, under the browser's id, and give the answer in pieces.

        An answer's id follows from that of the question, so it is known when it is there.
        """
        with self._lock:
            question = self._session.append("user", text, id=id)
            known = self._session.find(f"{id}-answer")
            if known is not None:
                yield known.text
                return
            pieces: list[str] = []
            for piece in self._ask():
                pieces.append(piece)
                yield piece
            answer = "".join(pieces)
            self._session.append("assistant", answer, id=f"{id}-answer", expected_tip=question)

    def _ask(self) -> Iterator[str]:
        create = self._client.chat.completions.create
        stream = self._session.call_model(
            lambda given: create(model=MODEL, stream=True, **input_to_openai_chat(given))
        )
        return (chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


class Handler(BaseHTTPRequestHandler):
    chat: Chat

    def do_GET(self) -> None:
        if self.path == "/":
            self._answer(200, "text/html; charset=utf-8", PAGE.read_bytes())
        elif self.path == "/messages":
            self._json(200, self.chat.messages())
        else:
            self._json(404, {"error": "not_found", "detail": "there is / and /messages"})

    def do_POST(self) -> None:
        try:
            id, text = self._read()
            pieces = self.chat.say(id, text)
            first = next(pieces, "")
        except sapwood.errors.ConflictError as error:
            self._json(409, {"error": error.code, "detail": str(error)})
        except sapwood.errors.UsageError as error:
            self._json(400, {"error": error.code, "detail": str(error)})
        except Exception as error:  # noqa: BLE001 - whatever the model's client raises
            self._json(502, {"error": "model", "detail": str(error)})
        else:
            self._stream(first, pieces)

    def _read(self) -> tuple[str, str]:
        # A form on another site cannot send this type, and so cannot speak for the user.
        if self.headers.get("Content-Type") != "application/json":
            raise sapwood.errors.UsageError("send JSON, as application/json")
        size = int(self.headers.get("Content-Length") or 0)
        try:
            body = json.loads(self.rfile.read(min(size, LARGEST)))
            return body["id"], body["text"]
        except (ValueError, LookupError, TypeError):
            raise sapwood.errors.UsageError('send {"id": ..., "text": ...}') from None

    def _stream(self, first: str, rest: Iterator[str]) -> None:
        """Send the pieces as server-sent events; go on to the end when nobody listens."""
        with contextlib.suppress(ConnectionError):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
        self._event({"text": first})
        try:
            for piece in rest:
                self._event({"text": piece})
        except Exception as error:  # noqa: BLE001 - the browser is told, and may send it again
            self._event({"error": str(error)})
        else:
            self._event({"done": True})

    def _event(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionError):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def _json(self, status: int, body: Any) -> None:
        self._answer(status, "application/json", json.dumps(body).encode())

    def _answer(self, status: int, type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def serve(sessions: SessionManager, client: Any, port: int = 0) -> ThreadingHTTPServer:
    """Make a server on this machine alone; `serve_forever()` runs it."""
    chat = Chat(sessions.session("web"), client)
    handler = type("ChatHandler", (Handler,), {"chat": chat})
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main() -> None:
    with sapwood.open("sqlite:///web_chat.db") as sessions:
        server = serve(sessions, connect(), port=8000)
        print(f"http://localhost:{server.server_port}/", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()

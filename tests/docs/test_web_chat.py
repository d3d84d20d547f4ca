"""The web chat answers each message once, under the ids that the browser gave."""

from __future__ import annotations

import importlib
import json
import socket
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sapwood

from .blocks import ROOT
from .endpoint import endpoint
from .test_programs import connected

HELLO = {"id": "m1", "text": "Hello"}
ANSWER = "I am a stand-in for a model. You said: Hello"


class Site:
    """A web chat that runs, as a browser sees it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._url = f"http://127.0.0.1:{port}"

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self._url + path) as response:
            return str(response.read().decode())

    def messages(self) -> list[Any]:
        found: list[Any] = json.loads(self.get("/messages"))
        return found

    def post(self, body: object, type: str = "application/json") -> list[Any]:
        data = json.dumps(body).encode()
        headers = {"Content-Type": type}
        request = urllib.request.Request(self._url + "/messages", data, headers)
        with urllib.request.urlopen(request) as response:
            assert response.headers["Content-Type"] == "text/event-stream"
            events = response.read().decode().split("\n\n")[:-1]
        return [json.loads(event.removeprefix("data: ")) for event in events]

    def post_and_leave(self, body: object) -> None:
        """Send a message and close the connection at once, without a farewell."""
        data = json.dumps(body).encode()
        head = f"POST /messages HTTP/1.0\r\nContent-Length: {len(data)}\r\n".encode()
        head += b"Content-Type: application/json\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self._port)) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(head + data)
            connection.recv(1)

    def say(self, body: object) -> str:
        events = self.post(body)
        assert events.pop() == {"done": True}
        return "".join(event["text"] for event in events)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return importlib.import_module("web_chat")


@contextmanager
def running(program: ModuleType, folder: Path, client: Any) -> Iterator[Site]:
    with sapwood.open(f"sqlite:///{folder}/chat.db") as sessions:
        server = program.serve(sessions, client)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Site(server.server_port)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


@pytest.fixture
def client(program: ModuleType) -> Any:
    return importlib.import_module("standin").StandIn()


@pytest.fixture
def site(program: ModuleType, tmp_path: Path, client: Any) -> Iterator[Site]:
    with running(program, tmp_path, client) as site:
        yield site


def test_an_answer_is_streamed_and_stored_under_ids_that_follow_from_the_browsers(
    site: Site,
) -> None:
    assert len(site.post(HELLO)) > 3
    assert site.messages() == [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]},
        {"id": "m1-answer", "role": "assistant", "parts": [{"type": "text", "text": ANSWER}]},
    ]


def test_a_message_sent_twice_is_stored_and_answered_once(site: Site, client: Any) -> None:
    assert site.say(HELLO) == site.say(HELLO) == ANSWER
    assert len(site.messages()) == 2
    assert client.calls == 1


def test_a_message_sent_many_times_at_once_is_answered_once(site: Site, client: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(site.say, [HELLO] * 8)) == {ANSWER}
    assert len(site.messages()) == 2
    assert client.calls == 1


def test_a_browser_that_goes_away_gets_its_answer_when_it_comes_back(
    site: Site, client: Any
) -> None:
    for _ in range(5):
        site.post_and_leave(HELLO)
    assert site.say(HELLO) == ANSWER
    assert len(site.messages()) == 2
    assert client.calls == 1


def test_a_restart_forgets_nothing(program: ModuleType, tmp_path: Path, client: Any) -> None:
    with running(program, tmp_path, client) as site:
        site.say(HELLO)
        before = site.messages()
    with running(program, tmp_path, client) as site:
        assert site.messages() == before
        assert site.say(HELLO) == ANSWER
        assert len(site.messages()) == 2


def test_a_question_that_was_not_answered_is_answered_when_it_is_sent_again(
    program: ModuleType, tmp_path: Path, client: Any
) -> None:
    broken = type(client)(window=1)
    with running(program, tmp_path, broken) as site:
        with pytest.raises(urllib.error.HTTPError) as caught:
            site.post(HELLO)
        with caught.value as response:
            assert response.code == 502
    with running(program, tmp_path, client) as site:
        assert [message["id"] for message in site.messages()] == ["m1"]
        assert site.say(HELLO) == ANSWER
        assert [message["id"] for message in site.messages()] == ["m1", "m1-answer"]


def test_other_words_under_a_known_id_are_refused(site: Site) -> None:
    site.say(HELLO)
    with pytest.raises(urllib.error.HTTPError) as caught:
        site.post({"id": "m1", "text": "Something else"})
    with caught.value as response:
        assert (response.code, json.load(response)["error"]) == (409, "message_conflict")
    assert len(site.messages()) == 2


@pytest.mark.parametrize(
    ("body", "type"),
    [
        (HELLO, "text/plain"),
        ([], "application/json"),
        ({"id": "m1"}, "application/json"),
        ({"id": "m1", "text": None}, "application/json"),
        ({"id": "", "text": "Hello"}, "application/json"),
    ],
)
def test_what_is_no_message_is_refused(site: Site, body: object, type: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        site.post(body, type)
    with caught.value as response:
        assert response.code == 400
        assert json.load(response)["detail"]
    assert site.messages() == []


def test_a_model_behind_an_endpoint_streams_too(
    program: ModuleType, tmp_path: Path, client: Any
) -> None:
    with endpoint(client) as url, running(program, tmp_path, connected(url)) as site:
        assert site.say(HELLO) == ANSWER


class Page(HTMLParser):
    """What a page is made of, and what it loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_is_one_file_that_loads_nothing_else(site: Site) -> None:
    text = site.get("/")
    page = Page()
    page.feed(text)
    assert {"ol", "form", "input", "button", "script"} <= set(page.tags)
    assert page.loads == []
    assert "innerHTML" not in text
    with pytest.raises(urllib.error.HTTPError) as caught:
        site.get("/other")
    with caught.value as response:
        assert response.code == 404

"""A user whom the server does not know, and a password that is not the right one.

The server that is tested here has no security plugin: a front on loopback stands before it, asks
for a password as the plugin does, and passes on what comes with the right one.
"""

from __future__ import annotations

import http.client
import http.server
import threading
from base64 import b64encode
from collections.abc import Iterator

import pytest
from servers.opensearch import OpenSearchNode

from sapwood.errors import StoreError
from sapwood.model import NewSession

from ..tried import tried
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

RIGHT = "Basic " + b64encode(b"ada:right").decode()
NO_BODY = {"content-length", "transfer-encoding", "connection"}


class Front(http.server.BaseHTTPRequestHandler):
    """Answers 401 to whom it does not know, and passes on what others say."""

    protocol_version = "HTTP/1.1"
    port = 0
    refused = 0

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != RIGHT:
            type(self).refused += 1
            # The plugin's own words, which are no JSON.
            self._answer(401, [("Content-Type", "text/plain")], b"Unauthorized")
            return
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        asked.request(self.command, self.path, body, dict(self.headers))
        answer = asked.getresponse()
        told = answer.read()
        asked.close()
        headers = [it for it in answer.getheaders() if it[0].lower() not in NO_BODY]
        self._answer(answer.status, headers, told)

    do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815 - named by the protocol

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def front(node: OpenSearchNode) -> Iterator[str]:
    """Give where the front is."""
    Front.port, Front.refused = node.port, 0
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


USERS = ["ada:s3cret@", "nobody:s3cret@", ""]


def see_refusal(error: StoreError) -> None:
    """See that it is told for good, at once, and in words without the password."""
    assert type(error) is StoreError
    assert not error.retryable
    assert "refused the user or the password" in str(error)
    assert "s3cret" not in "".join(map(str, (error, error.__cause__, repr(error))))
    assert Front.refused == 1
    tried("OpenSearch", "wrong credentials")


@pytest.mark.parametrize("user", USERS)
def test_wrong_credentials_are_told_and_do_not_show_the_password(
    front: str, prefix: str, user: str
) -> None:
    url = f"opensearch://{user}{front}"
    with open_store(url, prefix) as store, pytest.raises(StoreError) as caught:
        store.find_session(ADA, "s")
    see_refusal(caught.value)


@pytest.mark.parametrize("user", USERS)
async def test_the_same_on_a_loop(front: str, prefix: str, user: str) -> None:
    async with open_async_store(f"opensearch://{user}{front}", prefix) as store:
        with pytest.raises(StoreError) as caught:
            await store.find_session(ADA, "s")
    see_refusal(caught.value)


async def test_the_right_credentials_are_taken(front: str, prefix: str) -> None:
    url = f"opensearch://ada:right@{front}"
    with open_store(url, prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        assert ids_in(store) == ["m1"]
    async with open_async_store(url, prefix) as twin:
        await twin.create_session(ADA, NewSession(id="t"))
        assert (await twin.append(ADA, "t", [say("m1")])).written == 1
    assert Front.refused == 0

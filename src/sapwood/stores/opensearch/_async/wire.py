"""Requests to OpenSearch, and its answers."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from opensearchpy import AsyncOpenSearch
from opensearchpy.exceptions import OpenSearchException, SerializationError
from opensearchpy.serializer import JSONSerializer

from ...base.loops import AsyncPerLoop
from ...base.queues import AsyncCallerQueues
from ...base.refusals import store_closed
from ..address import MOST_CONNECTIONS, RETRIES, TIMEOUT_S
from ..failure import WHERE, is_gone, refusal, translate, unreadable

LOOKS = 100
PAUSE_S = 0.05
MOST_BYTES = 8 * 1024 * 1024
"""How much goes out with one request, unless a single item is larger."""
LARGE_BYTES = 1024 * 1024
"""From here on the HTTP client of an event loop warns of a body."""

_decode = msgspec.json.Decoder().decode


class AnswerReader(JSONSerializer):
    """Reads JSON as the driver's own reader does, several times as fast."""

    def loads(self, s: str) -> Any:
        """Read an answer; one that is none is the driver's error, as it would be with its own."""
        try:
            return _decode(s)
        except (msgspec.MsgspecError, ValueError) as error:
            raise SerializationError(s[:200], error) from error


class AsyncWire:
    """Clients of the driver: one of our own for each event loop, or one that stays its giver's."""

    def __init__(
        self,
        options: dict[str, Any] | None,
        client: AsyncOpenSearch | None,
        *,
        answer_within_s: float = TIMEOUT_S,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        self._is_own = client is None
        ours: dict[str, Any] = {
            "pool_maxsize": most_connections,
            "timeout": answer_within_s,
            "serializer": AnswerReader(),
        }
        self._clients = AsyncPerLoop(
            lambda: client or AsyncOpenSearch(**{**ours, **(options or {})}),
            self._close,
            given="" if client is None else "client",
        )
        self._is_closed = False

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        passing: Collection[int] = (),
        **parameters: Any,
    ) -> Any:
        """Send a request and give its answer; an error whose status is passing is an answer."""
        if self._is_closed:
            raise store_closed(WHERE)
        if body is not None and not isinstance(body, bytes):
            body = msgspec.json.encode(body)
        params = {**parameters, "ignore": tuple(passing)}
        for left in reversed(range(RETRIES + 1)):
            try:
                answer = await self._perform(method, path, params, body)
            except OpenSearchException as error:
                if not (left and isinstance(error, SerializationError)):
                    raise translate(error) from error
            else:
                if isinstance(answer, dict):
                    return answer
        raise unreadable()

    async def _perform(
        self, method: str, path: str, params: dict[str, Any], body: bytes | None
    ) -> Any:
        """Send a request; an answer that broke off may be no JSON, or nothing at all.

        The driver takes out of the parameters what is for itself.
        """
        with _unwarned(body):
            return await self._clients.here().transport.perform_request(
                method, path, params=dict(params), body=body
            )

    async def bulk(self, lines: Sequence[list[Any]], **parameters: Any) -> list[Any]:
        """Send many small writes, each as its lines; return an answer for each."""
        answers: list[Any] = []
        for body in bodies(lines):
            answer = await self.send("POST", "/_bulk", body, **parameters)
            answers += [next(iter(item.values())) for item in answer["items"]]
        return answers

    async def versions(self, name: str) -> dict[str, int]:
        """Return the versions of the indices that are known by a name; none when it is not."""
        answer = await self.send("GET", f"/{name}/_mapping", passing=(404,))
        found = {} if is_gone(answer) else answer
        return {
            name: int(it["mappings"].get("_meta", {}).get("sapwood", 0))
            for name, it in found.items()
        }

    async def create_index(
        self, name: str, version: int, settings: dict[str, Any], mapping: dict[str, Any]
    ) -> None:
        """Make an index that is known by a name; it is all the same if others do so, too.

        What is written by a name that is none is refused, where an index would be made up.
        """
        body = {"settings": settings, "mappings": mapping, "aliases": {name: {}}}
        answer = await self.send("PUT", f"/{name}-{version}", body, passing=(400,))
        error = answer.get("error")
        if error and error["type"] != "resource_already_exists_exception":
            raise refusal(400, error["reason"])
        if error:
            await self.send("PUT", f"/{name}-{version}/_alias/{name}")

    async def wait_for(self, names: Sequence[str]) -> None:
        """Wait until indices that somebody may have made just now can be used."""
        path = f"/_cluster/health/{','.join(names)}"
        await self.send("GET", path, wait_for_status="yellow")
        for name in names:
            for _ in range(LOOKS):
                # A cluster may say that a shard is started before the shard itself knows.
                path = f"/{name}/_doc/any"
                answer = await self.send("GET", path, passing=(404, 503), routing="any")
                if answer.get("status") != 503:
                    break
                await AsyncCallerQueues.pause(PAUSE_S)

    async def aclose(self) -> None:
        """Close the clients, unless they are somebody else's."""
        self._is_closed = True
        await self._clients.aclose()

    async def _close(self, client: AsyncOpenSearch) -> None:
        if self._is_own:
            await client.close()


@contextmanager
def _unwarned(body: bytes | None) -> Iterator[None]:
    """Send a large body without a warning: a message is one piece, and is copied in a moment."""
    if body is None or len(body) < LARGE_BYTES:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending a large body", ResourceWarning)
        yield


def bodies(lines: Sequence[list[Any]]) -> list[bytes]:
    """Put lines together into requests of a size that a server takes."""
    found: list[bytes] = []
    size, some = 0, list[bytes]()
    for item in lines:
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in item)
        if some and size + len(data) > MOST_BYTES:
            found.append(b"".join(some))
            size, some = 0, []
        size += len(data)
        some.append(data)
    return [*found, b"".join(some)] if some else found

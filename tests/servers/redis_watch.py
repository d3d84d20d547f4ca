"""Watches what a Redis server is asked: the calls that clients make, and what scripts do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Self

from redis import Redis

_QUIET = {"HELLO", "CLIENT", "PING", "INFO", "COMMAND", "ECHO"}
_numbers = count()


class Watch:
    """Sees every command of a server, by its MONITOR."""

    def __init__(self, url: str) -> None:
        self._client = Redis.from_url(url)
        self._marker = Redis.from_url(url)

    def __enter__(self) -> Self:
        self._monitor = self._client.monitor().__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._monitor.__exit__(*details)
        self._client.close()
        self._marker.close()

    def _seen(self, work: Callable[[], Any]) -> list[dict[str, Any]]:
        start, end = (f"mark-{next(_numbers)}" for _ in range(2))
        self._marker.echo(start)
        work()
        self._marker.echo(end)
        seen: list[dict[str, Any]] = []
        while start not in self._monitor.next_command()["command"]:
            continue
        while end not in (command := self._monitor.next_command())["command"]:
            seen.append(command)
        return seen

    @contextmanager
    def trips(self, client: Any) -> Iterator[list[str]]:
        """Count how often a store's client waits for an answer meanwhile."""
        seen: list[str] = []
        send, fetch, run = client.send, client.fetch, client.run

        def counted(call: Callable[..., Any]) -> Callable[..., Any]:
            def go(*args: Any, **options: Any) -> Any:
                seen.append("at once")
                return call(*args, **options)

            return go

        client.send, client.fetch, client.run = counted(send), counted(fetch), counted(run)
        try:
            yield seen
        finally:
            client.send, client.fetch, client.run = send, fetch, run

    def connections(self) -> int:
        """Tell how many connections were made since the server began."""
        info: dict[str, Any] = self._marker.info("stats")
        return int(info["total_connections_received"])

    def calls(self, work: Callable[[], Any]) -> list[str]:
        """Give the names of the commands that clients sent meanwhile."""
        names = [
            it["command"].split(" ")[0].upper()
            for it in self._seen(work)
            if it["client_type"] != "lua"
        ]
        return [name for name in names if name not in _QUIET]

    def inside(self, work: Callable[[], Any], *, with_args: bool = False) -> list[Any]:
        """Give the commands that scripts ran meanwhile, by their names or whole."""
        found = [it["command"].split(" ") for it in self._seen(work) if it["client_type"] == "lua"]
        if with_args:
            return [[words[0].upper(), *words[1:]] for words in found]
        return [words[0].upper() for words in found]

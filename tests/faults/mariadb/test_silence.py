"""A server that takes what is sent and does not answer: callers are told, and not kept for ever."""

from __future__ import annotations

import asyncio
import socket

import pytest
from servers.mariadb import MariaDbServer
from servers.proxy import Proxy

from sapwood.errors import StoreUnavailableError
from sapwood.model import Read

from ..tried import Store, tried
from .support import ADA, Place, ids_in, make_session, open_async_store, open_store, say


@pytest.fixture
def silent(proxied_place: tuple[Proxy, Place]) -> tuple[Proxy, Place]:
    """Give a proxy to a server, and the way through it, on which nobody waits for long."""
    proxy, place = proxied_place
    return proxy, place._replace(url=f"{place.url}?connect_timeout=2")


def test_a_silent_server_is_given_up_and_used_again(
    silent: tuple[Proxy, Place], prefix: str
) -> None:
    proxy, (name, url) = silent
    with open_store(url, prefix, answer_within_s=0.5) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        calls = [
            lambda: store.append(ADA, "s", [say("m2")]),
            lambda: store.append(ADA, "s", [say("m3"), say("m4")]),
            lambda: ids_in(store),
            lambda: store.put_document(ADA, "k", b"v"),
            lambda: store.list_leaves(ADA, "s"),
        ]
        for call in calls:
            before = proxy.connections
            proxy.hold()
            with pytest.raises(StoreUnavailableError) as caught:
                call()
            assert caught.value.retryable
            # It is not tried again, which would take as long.
            assert proxy.connections == before
            proxy.cut()
            proxy.release()
            call()
            tried(name, "time-out")
        assert ids_in(store) == ["m1", "m2", "m3", "m4"]
        assert store.admin.check() == []


async def test_the_async_twin_gives_up_a_silent_server(
    silent: tuple[Proxy, Place], prefix: str
) -> None:
    proxy, (name, url) = silent
    with open_store(url, prefix) as other:
        make_session(other)
    async with open_async_store(url, prefix, answer_within_s=0.5) as store:
        await store.append(ADA, "s", [say("m1")])
        proxy.hold()
        calls = [store.append(ADA, "s", [say(f"n{n}")]) for n in range(4)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(it) for it in done] == [StoreUnavailableError] * 4
        proxy.cut()
        proxy.release()
        for n in range(4):
            await store.append(ADA, "s", [say(f"n{n}")])
        proxy.hold()
        with pytest.raises(StoreUnavailableError):
            await store.read(ADA, "s", Read())
        proxy.cut()
        proxy.release()
        found = [it.id for it in (await store.read(ADA, "s", Read())).messages_only]
        assert sorted(found) == ["m1", "n0", "n1", "n2", "n3"]
        tried(name, "time-out", 2)


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("MariaDB", "mariadb"), ("PostgreSQL through SQLAlchemy", "sqlalchemy+postgresql")],
)
async def test_a_server_that_takes_connections_and_never_speaks_is_given_up(
    name: Store, scheme: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"{scheme}://u@127.0.0.1:{listener.getsockname()[1]}/d?connect_timeout=2"
        with (
            open_store(address, "p_", answer_within_s=0.5) as store,
            pytest.raises(StoreUnavailableError),
        ):
            store.find_session(ADA, "s")
        async with open_async_store(address, "p_", answer_within_s=0.5) as later:
            with pytest.raises(StoreUnavailableError):
                await later.find_session(ADA, "s")
        tried(name, "time-out", 2)


def test_what_the_url_says_counts(prefix: str, server: MariaDbServer) -> None:
    with open_store(f"{server.url()}?read_timeout=77", prefix) as store:
        make_session(store)
        with store._runner.here()._engine.connect() as conn:
            raw = conn.connection.dbapi_connection
            assert (raw._read_timeout, raw._write_timeout) == (77, 120)  # type: ignore[union-attr]

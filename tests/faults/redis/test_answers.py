"""Answers that are lost in the middle of a unit of work, and what others do before it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from servers.proxy import Proxy
from servers.redis import RedisServer

from sapwood.model import DocumentPut, ForkPoint, NewSession, SessionPatch, Usage
from sapwood.stores.redis import RedisStore

from ..tried import tried
from .support import ADA, ids_in, make_session, open_store, say


def before_each(store: RedisStore, act: Callable[[], None]) -> None:
    """Do something before each round trip of a store."""
    client: Any = store._runner.here()._client
    for name in ("run", "send"):
        setattr(client, name, _after(act, getattr(client, name)))


def _after(act: Callable[[], None], go: Callable[..., Any]) -> Callable[..., Any]:
    def both(*args: Any, **options: Any) -> Any:
        act()
        return go(*args, **options)

    return both


@pytest.mark.parametrize("which", [7, 9, 11, 13, 15, 16])
def test_a_detached_fork_has_each_message_once_whichever_answer_was_lost(
    server: RedisServer, proxy: Proxy, proxied: str, prefix: str, which: int
) -> None:
    with open_store(server.url(), prefix) as other:
        make_session(other)
        other.append(ADA, "s", [say(f"m{n}") for n in range(210)])
    with open_store(proxied, prefix) as store:
        store.find_session(ADA, "s")
        trips = 0

        def lose_one() -> None:
            nonlocal trips
            trips += 1
            if trips == which:
                proxy.swallow_next_answer()

        before_each(store, lose_one)
        fork = ForkPoint(session="s", detach=True)
        assert store.create_session(ADA, NewSession(id="copy", fork=fork)).messages == 210
        assert proxy.swallowed == 1
        assert ids_in(store, "copy") == [f"m{n}" for n in range(210)]
        assert store.admin.check() == []
    tried("Redis", "duplicate delivery after a lost answer")


def test_a_detached_fork_of_large_messages_is_written_in_small_pieces(
    server: RedisServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        for n in range(12):
            store.append(ADA, "s", [say(f"m{n}", "x" * 1_000_000)])
        client: Any = store._runner.here()._client
        run_script, sizes = client.run_script, list[int]()

        def measure(name: str, keys: Any, *args: Any) -> Any:
            sizes.append(sum(len(it) for it in args if isinstance(it, bytes)))
            return run_script(name, keys, *args)

        client.run_script = measure
        fork = ForkPoint(session="s", detach=True)
        store.create_session(ADA, NewSession(id="copy", fork=fork))
        assert max(sizes) < 6_000_000
        assert ids_in(store, "copy") == [f"m{n}" for n in range(12)]


CALLS: dict[str, Callable[[RedisStore], Any]] = {
    "put": lambda it: it.put_document(ADA, "k", b"v", session="s", expected_version=0),
    "put for the owner": lambda it: it.put_document(ADA, "k", b"v", expected_version=0),
    # Another session was deleted before, so that this one's versions begin above that one's.
    "update": lambda it: (
        it.update_session(ADA, "s", SessionPatch(title="t"), expected_version=2).record.version
    ),
    "count": lambda it: it.add_usage(ADA, "s", Usage(id="u", model="m")),
    "delete": lambda it: it.delete_session(ADA, "s"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_whose_answer_was_lost_succeeds_though_others_write_before_it_is_sent_again(
    server: RedisServer, proxy: Proxy, proxied: str, prefix: str, call: str
) -> None:
    with open_store(proxied, prefix) as store, open_store(server.url(), prefix) as other:
        make_session(store, "known to the server are the scripts after this")
        store.delete_session(ADA, "known to the server are the scripts after this")
        make_session(store)
        store.create_session(ADA, NewSession(id="fork", fork=ForkPoint(session="s")))
        client: Any = store._runner.here()._client
        driver, run_script = client.driver, client.run_script

        def lose(name: str, *args: Any) -> Any:
            if name in ("apply", "apply_freeing"):
                proxy.swallow_next_answer()
            return run_script(name, *args)

        def let_others_write() -> Any:
            if proxy.swallowed == 1:
                for n in range(3):
                    other.put_document(ADA, f"other {n}", b"", session="fork")
                    other.put_document(ADA, f"other {n}", b"")
            return driver()

        client.run_script, client.driver = lose, let_others_write
        done = CALLS[call](store)
        assert proxy.swallowed == 1
        assert done is not False
    tried("Redis", "duplicate delivery after a lost answer")


def test_an_append_whose_answer_was_lost_is_told_the_versions_of_its_documents(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        put = DocumentPut(key="k", value=b"v", expected_version=0)
        for n, patch in enumerate((SessionPatch(title="t"), SessionPatch(merge={"a": 1}))):
            proxy.swallow_next_answer()
            done = store.append(ADA, "s", [say(f"m{n}")], documents=[put], patch=patch)
            stored = store.find_document(ADA, "k", session="s")
            assert stored is not None
            assert done.documents == {"k": stored.version}
            put = DocumentPut(key="k", value=b"v", expected_version=stored.version)
        assert proxy.swallowed == 2
        record = store.find_session(ADA, "s")
        assert record is not None
        assert (record.title, record.attributes, record.version) == ("t", {"a": 1}, 3)
        assert ids_in(store) == ["m0", "m1"]
    tried("Redis", "duplicate delivery after a lost answer", proxy.swallowed)


def test_data_whose_answer_was_lost_is_written_once(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        make_session(store)
        client: Any = store._runner.here()._client
        run_script = client.run_script

        def lose(name: str, *args: Any) -> Any:
            if name in ("append", "apply", "apply_freeing"):
                proxy.swallow_next_answer()
            return run_script(name, *args)

        store.append(ADA, "s", [], data={"n": 0})
        client.run_script = lose
        for n, batch in enumerate(([], [say(None)], []), 1):
            done = store.append(ADA, "s", batch, data={"n": n, "x": 1})
            assert (done.written, done.known, len(done.messages)) == (1, [], len(batch))
            assert done.data_at is not None
            assert [it.value["n"] for it in store.list_data(ADA, "s", done.data_at)] == [
                *range(n, -1, -1)
            ]
        assert store.erase_data(ADA, "s", "x") == 3
        kept = store.clear_session(ADA, "s", keep_data=True)
        assert kept.data_at is not None
        found = store.list_data(ADA, "s", kept.data_at)
        assert [(it.value, it.previous) for it in found] == [({"n": 3}, None)]
        assert proxy.swallowed >= 5
        client.run_script = run_script
        assert store.admin.check() == []
    tried("Redis", "duplicate delivery after a lost answer", proxy.swallowed)

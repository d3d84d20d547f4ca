"""What is special to the memory store: nothing leaves it, and many threads may use it."""

from __future__ import annotations

import itertools
import threading

import pytest

from sapwood.errors import ClosedError
from sapwood.model import NewMessage, NewSession, Read, TextPart
from sapwood.store import Capability
from sapwood.stores.memory import AsyncMemoryStore, MemoryStore

from .acts import OWNER, Clock, append, cover, find, new


def test_changing_what_was_given_or_handed_out_does_not_change_what_is_stored(
    store: MemoryStore,
) -> None:
    metadata = {"k": ["v"]}
    data = {"n": [1]}
    given = NewMessage(role="user", parts=[TextPart(text="t")], metadata=metadata, id="m")
    appended = store.append(OWNER, "a", [given])
    store.create_session(OWNER, NewSession(id="b", attributes=data, tags=["t"]))
    metadata["k"].append("mine")
    data["n"].append(2)
    appended.messages[0].metadata.clear()
    appended.messages[0].parts.clear()
    record = store.find_session(OWNER, "b")
    assert record is not None
    record.attributes.clear()
    record.tags.clear()

    assert find(store, "a", "m").metadata == {"k": ["v"]}
    assert find(store, "a", "m").parts == [TextPart(text="t")]
    record = store.find_session(OWNER, "b")
    assert record is not None
    assert (record.attributes, record.tags) == ({"n": [1]}, ["t"])


def test_changing_an_overlays_metadata_does_not_change_what_is_stored(store: MemoryStore) -> None:
    append(store, "m1 m2")
    cover(store, "m1", "m2", id="o", metadata={"k": 1})
    store.list_overlays(OWNER, "a")[0].metadata.clear()
    assert store.list_overlays(OWNER, "a")[0].metadata == {"k": 1}


def test_a_closed_store_refuses_every_call(clock: Clock) -> None:
    store = MemoryStore(clock=clock, new_id=lambda: "x")
    store.close()
    store.close()
    for call in (
        lambda: store.find_session(OWNER, "a"),
        lambda: store.append(OWNER, "a", [new("m")]),
        lambda: store.finish_deletions(),
        lambda: store.admin.migrate(),
    ):
        with pytest.raises(ClosedError):
            call()


def test_it_declares_neither_durable_nor_shared(store: MemoryStore) -> None:
    assert store.capabilities == {Capability.DATA} == AsyncMemoryStore.capabilities


async def test_the_async_twin_does_the_same(clock: Clock) -> None:
    numbers = itertools.count(1)
    async with AsyncMemoryStore(clock=clock, new_id=lambda: f"id-{next(numbers)}") as store:
        await store.create_session(OWNER, NewSession(id="a"))
        await store.append(OWNER, "a", [NewMessage(role="user", parts=[TextPart(text="hi")])])
        history = await store.read(OWNER, "a", Read())
        assert [message.id for message in history.messages_only] == ["id-1"]
        await store.finish_deletions()
        assert await store.admin.check() == []
        assert await store.admin.migrate() == await store.admin.schema_version()
    with pytest.raises(ClosedError):
        await store.read(OWNER, "a", Read())


def test_blind_appends_of_many_threads_all_land_on_one_branch(store: MemoryStore) -> None:
    def work(name: int) -> None:
        for number in range(50):
            append(store, f"t{name}-{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.read(OWNER, "a", Read()).entries) == 400
    assert len(store.list_leaves(OWNER, "a")) == 1

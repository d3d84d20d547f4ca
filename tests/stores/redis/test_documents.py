"""Documents on Redis: their keys stand in order beside them, in a set that is made when needed."""

from __future__ import annotations

from typing import Any

import pytest
from redis import Redis
from servers.redis_watch import Watch

from sapwood.model import DocumentDelete, DocumentPut, NewSession
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ADA, fork_of, say

from .acts import key_of

SCOPES = pytest.mark.parametrize("session", [None, "s"])
KEYS = ["a", "b/1", "b/2", "b/3", "c"]


def place(raw: Redis, prefix: str, session: str | None, part: str) -> str:
    """Name the hash of documents, or the set of their keys."""
    if session is None:
        return f"{prefix}:{{o:{ADA}}}:{part}:"
    number = raw.hget(key_of(raw, prefix, "s", f"s:{session}"), "n")
    assert isinstance(number, bytes)
    return key_of(raw, prefix, "s", f"{part}:{number.decode()}")


@pytest.fixture
def filled(store: RedisStore) -> RedisStore:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")])
    for key in KEYS:
        for session in (None, "s"):
            store.put_document(ADA, key, key.encode(), session=session)
    return store


def listed(store: RedisStore, session: str | None, **asked: Any) -> list[str]:
    return [it.key for it in store.list_documents(ADA, session=session, **asked)]


def ordered(raw: Redis, prefix: str, session: str | None) -> list[str]:
    found = raw.zrange(place(raw, prefix, session, "ks"), 0, -1)
    assert isinstance(found, list)
    return [it.decode() for it in found]


CHANGES = {
    "put": lambda s, at: s.put_document(ADA, "new", b"", session=at),
    "replace": lambda s, at: s.put_document(ADA, "a", b"", session=at),
    "delete": lambda s, at: s.delete_document(ADA, "a", session=at),
    "delete by prefix": lambda s, at: s.delete_documents(ADA, "b/", session=at),
    "append": lambda s, at: s.append(
        ADA, "s", [say("m2")], documents=[DocumentPut(key="new", value=b"")]
    ),
    "append and delete": lambda s, at: s.append(
        ADA, "s", [say("m2")], documents=[DocumentDelete(key="a")]
    ),
    "put several": lambda s, at: s.put_documents(ADA, "s", [DocumentPut(key="new", value=b"")]),
}
ALONG = ("append", "append and delete", "put several")


@pytest.mark.parametrize(
    ("change", "session"),
    [(name, at) for name in CHANGES for at in (None, "s") if at or name not in ALONG],
)
def test_documents_of_before_are_listed_and_put_in_order_by_the_next_change(
    filled: RedisStore, raw: Redis, prefix: str, change: str, session: str | None
) -> None:
    at = session
    raw.delete(place(raw, prefix, at, "ks"))
    assert listed(filled, at) == KEYS
    assert listed(filled, at, prefix="b/", after="b/1", limit=1) == ["b/2"]
    assert listed(filled, at, reverse=True, limit=2, values=False) == ["c", "b/3"]
    assert filled.admin.check() == []
    CHANGES[change](filled, at)
    there = raw.hkeys(place(raw, prefix, at, "k"))
    assert isinstance(there, list)
    assert ordered(raw, prefix, at) == sorted(it.decode() for it in there)
    assert listed(filled, at) == ordered(raw, prefix, at)


@SCOPES
@pytest.mark.parametrize("damage", ["lacks", "has too many"])
def test_keys_that_are_not_those_of_the_documents_are_found_and_put_in_order(
    filled: RedisStore, raw: Redis, prefix: str, session: str | None, damage: str
) -> None:
    order = place(raw, prefix, session, "ks")
    if damage == "lacks":
        raw.zrem(order, "b/2")
    else:
        raw.zadd(order, {"b/25": 0})
    assert [it.kind for it in filled.admin.check()] == ["documents"]
    assert filled.admin.repair() == []
    assert ordered(raw, prefix, session) == listed(filled, session) == KEYS


def test_a_clear_and_a_fork_keep_the_keys_in_order(
    filled: RedisStore, raw: Redis, prefix: str
) -> None:
    filled.put_document(ADA, "lease", b"", session="s", expires_in_s=60)
    filled.put_document(ADA, "own", b"", session="s", inherit=False)
    filled.create_session(ADA, fork_of("s"))
    filled.create_session(ADA, fork_of("s", id="apart", detach=True))
    assert ordered(raw, prefix, "fork") == KEYS
    assert listed(filled, "apart") == KEYS
    filled.clear_session(ADA, "s")
    assert ordered(raw, prefix, "s") == listed(filled, "s") == KEYS


@SCOPES
def test_a_page_of_documents_costs_the_same_among_many(
    store: RedisStore, watch: Watch, session: str | None
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    asked: dict[str, Any] = {"session": session, "after": "k/0030", "limit": 10}
    work = []
    for count in (60, 3_000):
        names = [f"k/{n:04}" for n in range(count)]
        if session is None:
            for name in names:
                store.put_document(ADA, name, b"")
        else:
            store.put_documents(ADA, "s", [DocumentPut(key=it, value=b"") for it in names])
        assert len(store.list_documents(ADA, "k/", **asked)) == 10
        inside = watch.inside(lambda: store.list_documents(ADA, "k/", **asked), with_args=True)
        assert watch.calls(lambda: store.list_documents(ADA, "k/", **asked)) == ["EVALSHA"]
        work.append([(words[0], len(words)) for words in inside])
    assert work[0] == work[1]


@SCOPES
def test_more_documents_than_a_command_takes_words_are_listed_and_deleted(
    store: RedisStore, raw: Redis, prefix: str, session: str | None
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.put_document(ADA, "k/0", b"", session=session)
    documents = place(raw, prefix, session, "k")
    stored = raw.hget(documents, "k/0")
    assert isinstance(stored, bytes)
    raw.hset(documents, mapping={f"k/{n}": stored for n in range(9_500)})
    raw.delete(place(raw, prefix, session, "ks"))
    store.put_document(ADA, "z", b"", session=session)
    assert len(listed(store, session, prefix="k/", values=False)) == 9_500
    assert listed(store, session, prefix="k/") == sorted(f"k/{n}" for n in range(9_500))
    assert store.delete_documents(ADA, "k/", session=session) == 9_500
    assert listed(store, session) == ordered(raw, prefix, session) == ["z"]

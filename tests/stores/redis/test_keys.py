"""The keys of a Redis store: where they lie, and that none is left behind."""

from __future__ import annotations

import pytest
from redis import Redis
from servers import redis

from sapwood.model import NewSession, Read
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ADA, fork_of, say

from .acts import furnish, key_of, left_of_nothing


class TestKeys:
    def test_all_keys_of_a_tree_share_a_hash_tag(
        self, store: RedisStore, raw: Redis, prefix: str
    ) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"", session="s")
        store.put_document(ADA, "k", b"")
        tags = {key.split(b"{")[1].split(b"}")[0] for key in redis.own_keys() if b"{" in key}
        tree = raw.hget(f"{prefix}:{{o:{ADA}}}:d", "s").split()[0]  # type: ignore[union-attr]
        assert tags == {tree, f"o:{ADA}".encode()}

    @pytest.mark.parametrize("name", ["a}b{c", "{}", "}", "%7B", "{o:ada}"])
    def test_rule_13_names_with_braces_stay_their_own(
        self, store: RedisStore, raw: Redis, prefix: str, name: str
    ) -> None:
        for owner in (name, ADA):
            store.create_session(owner, NewSession(id=name))
            store.append(owner, name, [say(name, owner)])
        for owner in (name, ADA):
            [message] = store.read(owner, name, Read()).messages_only
            assert (message.id, message.text) == (name, owner)
        slots = {k.split(b"{", 1)[1].split(b"}")[0] for k in redis.own_keys() if b"{" in k}
        assert len(slots) == 4

    def test_deleting_leaves_no_key_behind(self, store: RedisStore, prefix: str) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"", session="fork")
        store.create_session(ADA, fork_of("s", id="apart", detach=True))
        store.clear_session(ADA, "apart")
        for session in ("s", "fork", "apart"):
            store.delete_session(ADA, session)
        left = {key.rpartition(b":")[2] for key in redis.own_keys()}
        assert left == {b"schema", b"owners", b"t", b"f"}, "the feed tells that they went"
        store.erase_owner(ADA)
        assert sorted(redis.own_keys()) == left_of_nothing(prefix)

    def test_an_erased_owner_leaves_no_key_behind(self, store: RedisStore, prefix: str) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"")
        store.changes(ADA, reader="r")
        store.erase_owner(ADA)
        assert sorted(redis.own_keys()) == left_of_nothing(prefix)


def test_a_session_with_very_many_leases_is_cleared_whole(
    store: RedisStore, raw: Redis, prefix: str
) -> None:
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say("m1")])
    store.put_document(ADA, "lease", b"", session="s", expires_in_s=1)
    number = raw.hget(key_of(raw, prefix, "s", "s:s"), "n")
    assert isinstance(number, bytes)
    key = key_of(raw, prefix, "s", f"k:{number.decode()}")
    stored = raw.hget(key, "lease")
    assert isinstance(stored, bytes)
    raw.hset(key, mapping={f"lease {n}": stored for n in range(9_000)})
    assert store.clear_session(ADA, "s").messages == 0
    assert raw.hlen(key) == 0
    assert store.append(ADA, "s", [say("m1", "again")]).written == 1
    assert store.admin.check() == []

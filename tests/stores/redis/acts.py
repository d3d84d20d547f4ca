"""Short ways to use a Redis store in a test."""

from __future__ import annotations

import os
import time

from redis import Redis

from sapwood.model import NewSession
from sapwood.rules.ids import IdMaker
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ADA, cover, fork_of, say

new_id = IdMaker(lambda: time.time_ns() // 1000, os.urandom)


def key_of(raw: Redis, prefix: str, session: str, part: str, owner: str = ADA) -> str:
    """Name a key of a session's tree."""
    value = raw.hget(f"{prefix}:{{o:{owner}}}:d", session)
    assert isinstance(value, bytes)
    return f"{prefix}:{{{value.split()[0].decode()}}}:{part}"


def left_of_nothing(prefix: str) -> list[bytes]:
    """Return the keys that stay when all owners were erased."""
    return [f"{prefix}:schema".encode(), f"{prefix}:{{floor}}:t".encode()]


def furnish(store: RedisStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    for id in ("m1", "m2", "m3", "m4"):
        store.append(ADA, "s", [say(id, tokens=2)])
    store.append(ADA, "s", [say("x1"), say("x2")], parent="m2")
    store.create_session(ADA, fork_of("s", "m3"))
    store.append(ADA, "fork", [say("f1")])
    store.update_message(ADA, "s", say("m1", "changed", tokens=50))
    store.checkout(ADA, "s", "m4")
    store.add_overlay(ADA, "s", cover("m2", "m3", id="o"))
    store.finish_deletions()

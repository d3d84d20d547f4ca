"""Several users of one Redis: names, listings, leases, clocks, versions."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from sapwood.errors import (
    NotFoundError,
    StaleVersionError,
)
from sapwood.model import NewMessage, NewSession, Read, SessionQuery, TextPart
from sapwood.stores.redis import RedisStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, ids_told, say, shown

from .acts import furnish


class TestTogether:
    def test_another_store_finds_a_session_that_was_created_anew(
        self, open_store: Callable[..., RedisStore]
    ) -> None:
        one, other = open_store(), open_store()
        one.create_session(ADA, NewSession(id="s"))
        other.append(ADA, "s", [say("old")])
        for again in range(3):
            one.delete_session(ADA, "s")
            with pytest.raises(NotFoundError):
                other.append(ADA, "s", [say("nowhere")])
            one.create_session(ADA, NewSession(id="s"))
            other.append(ADA, "s", [say(f"m{again}")])
            assert shown(one.read(ADA, "s", Read())) == [f"m{again}"]

    def test_another_store_lists_by_what_was_said_last(
        self, open_store: Callable[..., RedisStore], raw: Redis, prefix: str
    ) -> None:
        clock = ManualClock()
        one, other = open_store(clock=clock), open_store(clock=clock)
        for name in "abc":
            one.create_session(ADA, NewSession(id=name))
        raw.delete(f"{prefix}:{{o:{ADA}}}:h")  # as if they had been created long ago
        for name in "cab":
            clock.advance(2)
            one.append(ADA, name, [say(None)])
        listed = other.list_sessions(ADA, SessionQuery()).sessions
        assert [it.id for it in listed] == ["b", "a", "c"]

    def test_a_name_that_was_claimed_and_never_used_can_be_had(
        self, store: RedisStore, raw: Redis, prefix: str
    ) -> None:
        store.finish_deletions()
        long_ago = time.time_ns() // 1000 - 60_000_000
        raw.hset(f"{prefix}:{{o:{ADA}}}:d", "s", f"gone 1 {long_ago}")
        assert store.find_session(ADA, "s") is None
        assert store.list_sessions(ADA, SessionQuery()).sessions == []
        store.create_session(ADA, NewSession(id="s"))
        assert store.append(ADA, "s", [say("m1")]).written == 1
        assert store.admin.check() == []

    def test_a_name_that_is_being_claimed_is_waited_for(
        self, store: RedisStore, raw: Redis, prefix: str
    ) -> None:
        store.finish_deletions()
        now = time.time_ns() // 1000
        raw.hset(f"{prefix}:{{o:{ADA}}}:d", "s", f"slow 1 {now - 2_500_000}")
        store.create_session(ADA, NewSession(id="s"))
        assert time.time_ns() // 1000 > now + 400_000
        assert store.append(ADA, "s", [say("m1")]).written == 1

    def test_rule_09_of_many_that_take_an_owners_lease_one_succeeds(
        self, store: RedisStore
    ) -> None:
        def count(_: int) -> int:
            done = 0
            while done < 5:
                found = store.find_document(ADA, "k")
                value = b"%d" % (int(found.value) + 1 if found else 1)
                version = found.version if found else 0
                with contextlib.suppress(StaleVersionError):
                    store.put_document(ADA, "k", value, expected_version=version)
                    done += 1
            return done

        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(count, range(4))) == 20
        found = store.find_document(ADA, "k")
        assert found is not None
        assert found.value == b"20"


def test_the_clock_is_the_servers_where_none_is_given(store: RedisStore) -> None:
    store.create_session(ADA, NewSession(id="s"))
    text = NewMessage(role="user", parts=[TextPart(text="x")])
    first, second = (store.append(ADA, "s", [text]).messages[0] for _ in range(2))
    assert 0 < second.created_us - first.created_us < 60_000_000
    document = store.put_document(ADA, "k", b"", expires_in_s=0.01)
    assert document.expires_us == document.updated_us + 10_000
    time.sleep(0.02)
    assert store.find_document(ADA, "k") is None


def test_versions_are_not_used_again_after_a_session_or_an_owner_was_deleted(
    store: RedisStore,
) -> None:
    seen: list[int] = []
    for _ in range(3):
        store.create_session(ADA, NewSession(id="s"))
        seen.append(store.put_document(ADA, "k", b"", session="s").version)
        store.delete_session(ADA, "s")
    for _ in range(3):
        seen.append(store.put_document(ADA, "k", b"").version)
        store.erase_owner(ADA)
    assert seen == sorted(set(seen))


def test_a_cursor_from_before_an_owner_was_erased_is_refused(store: RedisStore) -> None:
    furnish(store)
    cursor = store.changes(ADA).cursor
    store.erase_owner(ADA)
    furnish(store)
    with pytest.raises(NotFoundError):
        store.changes(ADA, after=cursor)


def test_a_feed_is_trimmed_behind_its_readers_once_it_is_old(
    open_store: Callable[..., RedisStore],
) -> None:
    clock = ManualClock()
    store = open_store(clock=clock)
    furnish(store)
    page = store.changes(ADA, limit=1 + 2, reader="slow")
    end = store.changes(ADA).cursor
    clock.advance(90_000)
    store.changes(ADA, after=page.cursor, reader="slow", limit=1)
    store.finish_deletions()
    assert ids_told(store.changes(ADA, after=page.cursor, limit=1)) == ["m3"]
    store.changes(ADA, after=end, reader="slow")
    store.finish_deletions()
    assert store.changes(ADA).changes == []
    with pytest.raises(NotFoundError):
        store.changes(ADA, after=page.cursor)

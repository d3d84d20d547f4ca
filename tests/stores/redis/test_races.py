"""Two stores at one session of Redis: what one does between two steps of the other."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
from servers import redis

from sapwood.errors import NotFoundError
from sapwood.model import (
    ChangeKind,
    NewSession,
    Read,
    Search,
    SessionPatch,
    SessionQuery,
    SystemFields,
    SystemPatch,
)
from sapwood.stores.redis import RedisStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

from .acts import left_of_nothing
from .between import before

CALLS: dict[str, tuple[str, Callable[[RedisStore], Any]]] = {
    "delete": ("HMGET", lambda it: it.delete_session(ADA, "s")),
    "clear": ("HMGET", lambda it: it.clear_session(ADA, "s").messages),
    "undo": ("HGET w", lambda it: it.undo_overlay(ADA, "s", "o").id),
    "cover": ("HGET w", lambda it: it.add_overlay(ADA, "s", cover("<o>", "m3", id="p")).id),
    "search": ("HMGET", lambda it: it.search(ADA, Search(text="m1 m2")).hits),
    "search, at first": ("HGETALL s", lambda it: it.search(ADA, Search(text="m1 m2")).hits),
    "detach": ("HMGET w", lambda it: it.create_session(ADA, fork_of("s", detach=True)).id),
}
Open = Callable[..., RedisStore]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


class TestExpiry:
    @pytest.fixture
    def one(self, open_store: Open, clock: ManualClock) -> RedisStore:
        """Open a store with a session that has expired, and a fork of it that has not."""
        store = open_store(clock=clock, session_ttl_s=100)
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1"), say("m2")])
        clock.advance(60)
        store.create_session(ADA, fork_of("s"))
        clock.advance(60)
        return store

    @pytest.fixture
    def other(self, open_store: Open, clock: ManualClock) -> RedisStore:
        return open_store(clock=clock, session_ttl_s=100)

    def test_an_expired_session_is_deleted_while_its_fork_is_written_to(
        self, one: RedisStore, other: RedisStore
    ) -> None:
        done = before(one, "apply_freeing", lambda: other.append(ADA, "fork", [say("f1")]))
        one.finish_deletions()
        assert done
        assert one.statistics(ADA).sessions == 1
        assert one.admin.check() == []

    @pytest.mark.parametrize(
        "meet", [lambda it: it.find_session(ADA, "s"), lambda it: it.finish_deletions()]
    )
    def test_one_that_was_created_again_in_the_same_tree_is_not_the_expired_one(
        self, one: RedisStore, other: RedisStore, meet: Callable[[RedisStore], Any]
    ) -> None:
        def create_again() -> None:
            other.create_session(ADA, fork_of("fork", id="s"))
            other.append(ADA, "s", [say("new")])

        done = before(one, "look", create_again)
        meet(one)
        assert done
        for store in (one, other):
            assert shown(store.read(ADA, "s", Read())) == ["m1", "m2", "new"]

    def test_one_that_two_delete_at_once_is_told_once(
        self, one: RedisStore, other: RedisStore
    ) -> None:
        done = before(one, "apply_freeing", other.finish_deletions)
        one.finish_deletions()
        assert done
        kinds = [it.kind for it in one.changes(ADA).changes]
        assert kinds.count(ChangeKind.RETIRE) == 1

    @pytest.mark.parametrize("step", ["publish_changes", "release_name"])
    def test_one_whose_deletion_is_killed_is_told_by_the_next(
        self, one: RedisStore, other: RedisStore, step: str
    ) -> None:
        def die() -> None:
            raise KeyboardInterrupt

        one.changes(ADA)
        before(one, step, die)
        with pytest.raises(KeyboardInterrupt):
            one.find_session(ADA, "s")
        for _ in range(2):
            other.finish_deletions()
            kinds = [it.kind for it in other.changes(ADA).changes]
            assert kinds.count(ChangeKind.RETIRE) == 1


class TestOverlays:
    @pytest.mark.parametrize("call", CALLS)
    @pytest.mark.parametrize("first", ["delete", "clear", "undo"])
    def test_who_comes_second_is_told_what_is_there_now(
        self, open_store: Open, first: str, call: str
    ) -> None:
        one, other = open_store(), open_store()
        one.create_session(ADA, NewSession(id="s"))
        one.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        one.add_overlay(ADA, "s", cover("m1", "m2", id="o"))
        step, go = CALLS[call]
        done = before(one, step, lambda: CALLS[first][1](other))
        with contextlib.suppress(NotFoundError):
            go(one)
        assert done
        assert one.admin.check() == []


class TestRecords:
    @pytest.fixture
    def one(self, open_store: Open) -> RedisStore:
        """Open a store with two sessions; the context of one has to be worked out."""
        store = open_store()
        for session in ("s", "other"):
            store.create_session(ADA, NewSession(id=session))
        store.append(ADA, "s", [say("m1"), say("m2")])
        store.add_overlay(ADA, "s", cover("m1", "m2"))
        return store

    def test_a_session_that_is_deleted_meanwhile_is_not_found(
        self, one: RedisStore, open_store: Open
    ) -> None:
        done = before(one, "context_tokens", lambda: open_store().delete_session(ADA, "s"))
        assert one.find_session(ADA, "s") is None
        assert done

    def test_a_session_that_is_deleted_meanwhile_is_not_listed(
        self, one: RedisStore, open_store: Open
    ) -> None:
        done = before(one, "context_tokens", lambda: open_store().delete_session(ADA, "s"))
        page = one.list_sessions(ADA, SessionQuery())
        assert [it.id for it in page.sessions] == ["other"]
        assert done

    def test_one_that_is_deleted_and_created_again_meanwhile_is_listed_once(
        self, one: RedisStore, open_store: Open
    ) -> None:
        def create_again() -> None:
            other = open_store()
            other.delete_session(ADA, "s")
            other.create_session(ADA, NewSession(id="s"))

        done = before(one, "publish_changes", create_again)
        one.list_sessions(ADA, SessionQuery())
        assert done
        page = one.list_sessions(ADA, SessionQuery())
        assert sorted(it.id for it in page.sessions) == ["other", "s"]
        assert one.admin.check() == []


class TestKeys:
    def test_a_session_that_is_killed_before_it_has_a_key_is_not_found_by_it(
        self, open_store: Open
    ) -> None:
        one, other = open_store(), open_store()
        one.create_session(ADA, NewSession(id="s", system=SystemFields(key=("old",))))
        one.find_session(ADA, "s")

        def die() -> None:
            raise KeyboardInterrupt

        before(one, "apply", die)
        patch = SessionPatch(system=SystemPatch(key=("new",)))
        with pytest.raises(KeyboardInterrupt):
            one.update_session(ADA, "s", patch)
        for key, found in ((("old",), ["s"]), (("new",), [])):
            page = other.list_sessions(ADA, SessionQuery(key=key))
            assert [it.id for it in page.sessions] == found
        assert other.admin.check() == []
        other.update_session(ADA, "s", patch)
        assert len(other.list_sessions(ADA, SessionQuery(key=("new",))).sessions) == 1

    def test_a_key_is_not_given_to_a_session_of_the_same_name(self, open_store: Open) -> None:
        one, other = open_store(), open_store()
        one.create_session(ADA, NewSession(id="s"))

        def begin_again() -> None:
            other.delete_session(ADA, "s")
            other.create_session(ADA, NewSession(id="s", title="another"))

        done = before(one, "index_key", begin_again)
        patch = SessionPatch(system=SystemPatch(key=("new",)))
        # It is told of the one that is there now.
        record = one.update_session(ADA, "s", patch).record
        assert done
        assert (record.title, record.system.key) == ("another", ("new",))
        page = other.list_sessions(ADA, SessionQuery(key=("new",)))
        assert [it.id for it in page.sessions] == ["s"]
        assert other.admin.check() == []

    def test_versions_go_on_above_those_of_a_session_whose_deletion_was_killed(
        self, open_store: Open
    ) -> None:
        one, other = open_store(), open_store()
        one.create_session(ADA, NewSession(id="s"))
        for _ in range(3):
            reached = one.update_session(ADA, "s", SessionPatch(title="t")).record.version

        def die() -> None:
            raise KeyboardInterrupt

        for step in ("apply_freeing", "release_name"):
            before(one, step, die)
            with pytest.raises(KeyboardInterrupt):
                one.delete_session(ADA, "s")
            other.delete_session(ADA, "s") if step == "apply_freeing" else None
            first = other.create_session(ADA, NewSession(id="s")).version
            assert first > reached
            reached = first
            one = open_store()


class TestErasing:
    def test_a_session_is_created_after_its_owner_was_erased_or_not_at_all(
        self, open_store: Open, prefix: str
    ) -> None:
        one, other = open_store(), open_store()
        done = before(one, "apply", lambda: other.erase_owner(ADA))
        one.create_session(ADA, NewSession(id="s"))
        assert done
        one.append(ADA, "s", [say("m1")])
        assert shown(other.read(ADA, "s", Read())) == ["m1"]
        other.erase_owner(ADA)
        assert sorted(redis.own_keys()) == left_of_nothing(prefix)

    def test_a_session_that_is_created_while_its_name_goes_is_erased(
        self, open_store: Open, prefix: str
    ) -> None:
        one, other = open_store(), open_store()
        is_claimed, may_go_on = threading.Event(), threading.Event()

        def wait() -> None:
            is_claimed.set()
            may_go_on.wait()

        def let_it_create() -> None:
            may_go_on.set()
            creating.join()

        before(one, "apply", wait)
        creating = threading.Thread(target=one.create_session, args=(ADA, NewSession(id="s")))
        creating.start()
        is_claimed.wait()
        done = before(other, "release_name", let_it_create)
        other.erase_owner(ADA)
        assert done
        with pytest.raises(NotFoundError):
            one.append(ADA, "s", [say("m1")])
        assert sorted(redis.own_keys()) == left_of_nothing(prefix)

    def test_an_owner_who_has_a_document_again_is_listed(self, open_store: Open) -> None:
        one, other = open_store(), open_store()
        one.create_session(ADA, NewSession(id="s"))
        done = before(other, "apply", lambda: one.erase_owner(ADA))
        other.put_document(ADA, "k", b"")
        assert done
        assert one.admin.list_owners() == [ADA]
        again = before(one, "SREM", lambda: other.put_document(ADA, "k", b""))
        one.erase_owner(ADA)
        assert again
        assert one.admin.list_owners() == [ADA]


def test_what_others_are_just_writing_is_no_damage(open_store: Open) -> None:
    one, other = open_store(), open_store()
    one.create_session(ADA, NewSession(id="s"))
    one.append(ADA, "s", [say("m1")])
    done = before(one, "LRANGE 1", lambda: other.append(ADA, "s", [say("m2")]))
    assert one.admin.check() == []
    assert done
    done = before(one, "ZRANGE a", lambda: other.create_session(ADA, NewSession(id="new")))
    assert one.admin.check() == []
    assert done


@pytest.mark.parametrize(
    ("step", "call"),
    [
        ("inheritance", lambda it: it.create_session(ADA, fork_of("s"))),
        ("inheritance", lambda it: it.create_session(ADA, fork_of("s", detach=True))),
        ("range_tokens", lambda it: it.add_overlay(ADA, "s", cover("m1", "m2"))),
    ],
)
def test_what_is_cleared_and_swept_between_two_steps_is_gone_and_not_damaged(
    open_store: Open, step: str, call: Callable[[RedisStore], Any]
) -> None:
    one, other = open_store(), open_store()
    one.create_session(ADA, NewSession(id="s"))
    one.append(ADA, "s", [say("m1"), say("m2")])
    done = before(one, step, lambda: other.clear_session(ADA, "s"))
    with contextlib.suppress(NotFoundError):
        assert call(one).messages == 0
    assert done

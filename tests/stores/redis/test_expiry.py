"""Sessions in Redis that expire: on one server and on a cluster, in both twins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from servers import redis

import sapwood
from sapwood.errors import NotFoundError
from sapwood.model import ChangeKind, NewSession, Read, SessionPatch, SessionQuery
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, cover, fork_of, say, shown

from .acts import furnish
from .anywhere import SERVERS, TWINS, Anywhere

MEETINGS: dict[str, Callable[[Any], Any]] = {
    "settle": lambda it: it.finish_deletions(),
    "find": lambda it: it.find_session(ADA, "s"),
    "create": lambda it: it.create_session(ADA, NewSession(id="s")),
}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue(f"{request.param}_url")
    name: str = request.param
    return name


class TestExpiry:
    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture(params=TWINS)
    def place(self, server: str, request: pytest.FixtureRequest) -> Anywhere:
        return Anywhere(server, request.param)

    @pytest.fixture
    def store(self, place: Anywhere, clock: ManualClock) -> Iterator[Any]:
        with place.open(clock=clock, session_ttl_s=100) as store:
            yield store

    def test_a_session_that_nobody_used_is_gone_and_leaves_nothing(
        self, store: Any, clock: ManualClock, place: Anywhere
    ) -> None:
        furnish(store)
        store.put_document(ADA, "k", b"", session="s")
        clock.advance(101)
        assert store.find_session(ADA, "s") is None
        with pytest.raises(NotFoundError):
            store.append(ADA, "fork", [say("late")])
        assert store.list_sessions(ADA, SessionQuery()).sessions == []
        store.finish_deletions()
        assert store.statistics(ADA).sessions == 0
        assert [it.kind for it in store.changes(ADA).changes][-2:] == [ChangeKind.RETIRE] * 2
        left = {key.rpartition(b":")[2] for key in place.own_keys()}
        assert left == {b"schema", b"owners", b"t", b"f"}

    def test_each_append_gives_it_more_time(self, store: Any, clock: ManualClock) -> None:
        store.create_session(ADA, NewSession(id="s"))
        for n in range(5):
            clock.advance(60)
            store.append(ADA, "s", [say(f"m{n}")])
            store.finish_deletions()
        clock.advance(99)
        assert shown(store.read(ADA, "s", Read())) == [f"m{n}" for n in range(5)]
        clock.advance(2)
        store.finish_deletions()
        assert store.find_session(ADA, "s") is None

    def test_no_fork_goes_with_its_source(self, store: Any, clock: ManualClock) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        clock.advance(60)
        store.create_session(ADA, fork_of("s", "m2"))
        store.append(ADA, "fork", [say("f1")])
        store.create_session(ADA, fork_of("s", "m3", id="bare"))
        clock.advance(60)
        store.finish_deletions()
        assert shown(store.read(ADA, "bare", Read())) == ["m1", "m2", "m3"]
        assert store.find_session(ADA, "s") is None
        history = store.read(ADA, "fork", Read())
        assert [(it.id, it.home) for it in history.messages_only] == [
            ("m1", None),
            ("m2", None),
            ("f1", "fork"),
        ]
        assert store.admin.check() == []

    def test_one_created_again_begins_empty(self, store: Any, clock: ManualClock) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        clock.advance(101)
        assert store.create_session(ADA, NewSession(id="s")).messages == 0
        assert store.append(ADA, "s", [say("m1", "other")]).written == 1

    def test_a_repair_leaves_the_summaries_that_an_expired_session_shares(
        self, store: Any, clock: ManualClock
    ) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1"), say("m2"), say("m3")])
        store.add_overlay(ADA, "s", cover("m1", "m2", id="o"))
        clock.advance(50)
        store.create_session(ADA, fork_of("s"))
        clock.advance(51)
        assert store.admin.check() == []
        assert store.admin.repair() == []
        store.finish_deletions()
        assert shown(store.read(ADA, "fork", Read())) == ["<o>", "m3"]
        assert store.admin.check() == []

    def test_one_that_an_append_made_expire_is_deleted_by_settle(
        self, store: Any, place: Anywhere, clock: ManualClock
    ) -> None:
        with place.open(clock=clock) as everlasting:
            everlasting.create_session(ADA, NewSession(id="s"))
            everlasting.finish_deletions()
        store.append(ADA, "s", [say("m1")])
        clock.advance(101)
        store.finish_deletions()
        assert [key for key in place.own_keys() if b":b:" in key or b":s:" in key] == []
        assert [it.kind for it in store.changes(ADA).changes][-1] == ChangeKind.RETIRE

    @pytest.mark.parametrize("kind", ["memory", "review"])
    def test_only_chats_expire(self, store: Any, clock: ManualClock, kind: str) -> None:
        # What a title says is not taken for the kind.
        store.create_session(ADA, NewSession(id="s", title='{"kind":"memory"}'))
        store.append(ADA, "s", [say("m1")], patch=SessionPatch(title='"kind":"memory"'))
        store.create_session(ADA, NewSession(id="kept", kind=kind))
        store.create_session(ADA, NewSession(id="unused", kind=kind))
        store.create_session(ADA, fork_of("s", kind=kind))
        store.create_session(ADA, fork_of("s", id="detached", kind=kind, detach=True))
        for session in ("kept", "fork"):
            store.append(ADA, session, [say("k1")], patch=SessionPatch(title="a title"))
            store.append(ADA, session, [say("k2")])
        clock.advance(10_000)
        store.finish_deletions()
        assert store.find_session(ADA, "s") is None
        assert shown(store.read(ADA, "fork", Read())) == ["m1", "k1", "k2"]
        asked = SessionQuery(kind=None, order="created")
        listed = [it.id for it in store.list_sessions(ADA, asked).sessions]
        assert listed == ["detached", "fork", "unused", "kept"]
        assert store.admin.check() == []

    @pytest.mark.parametrize("met", MEETINGS)
    def test_every_reader_is_told_once_that_a_session_expired(
        self, store: Any, place: Anywhere, clock: ManualClock, met: str
    ) -> None:
        store.create_session(ADA, NewSession(id="s"))
        store.append(ADA, "s", [say("m1")])
        cursors = ["", store.changes(ADA).cursor]
        clock.advance(101)
        with place.open(clock=clock, session_ttl_s=100) as other:
            MEETINGS[met](store)
            other.find_session(ADA, "s")
            for it in (other, store):
                it.finish_deletions()
            for reader in (store, other):
                for cursor in cursors:
                    told = reader.changes(ADA, after=cursor).changes
                    kinds = [it.kind for it in told]
                    assert kinds.count(ChangeKind.RETIRE) == 1
                    at = kinds.index(ChangeKind.RETIRE)
                    assert (told[at].session, told[at].version) == ("s", 1)
                    created_again = [ChangeKind.RECORD] if met == "create" else []
                    assert kinds[at + 1 :] == created_again


def test_a_url_says_for_how_long_sessions_are_kept(
    server: str, request: pytest.FixtureRequest
) -> None:
    SERVERS[server].empty()
    url = f"{request.getfixturevalue(f'{server}_url')}?prefix={redis.prefix()}"
    with sapwood.open(f"{url}&ttl=0.05") as passing, sapwood.open(f"{url}&ttl=600.5") as lasting:
        passing.store.create_session(ADA, NewSession(id="s"))
        lasting.store.create_session(ADA, NewSession(id="t"))
        time.sleep(0.2)
        assert passing.store.find_session(ADA, "s") is None
        assert lasting.store.find_session(ADA, "t") is not None
        lasting.finish_deletions()
        assert [it.id for it in lasting.store.list_sessions(ADA, SessionQuery()).sessions] == ["t"]


async def test_the_same_on_a_loop(server: str, request: pytest.FixtureRequest) -> None:
    SERVERS[server].empty()
    url = f"{request.getfixturevalue(f'{server}_url')}?prefix={redis.prefix()}"
    async with sapwood.open_async(f"{url}&ttl=0.05") as sessions:
        await sessions.store.create_session(ADA, NewSession(id="s"))
        await asyncio.sleep(0.2)
        assert await sessions.store.find_session(ADA, "s") is None

"""Two stores at one session of Redis: what one does between two steps of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sapwood.model import NewSession, Read
from sapwood.stores.redis import RedisStore
from sapwood.stores.redis.scripts import script
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, fork_of, say, shown

Open = Callable[..., RedisStore]


def before(store: RedisStore, step: str, act: Callable[[], Any]) -> list[str]:
    """Do something once, before the first script or command of a name; give what was done."""
    link: Any = store._runner._link
    run, send = link.run, link.send
    done: list[str] = []

    def meet(commands: Sequence[Sequence[Any]]) -> None:
        names = [it[0] if it[0] != "EVALSHA" else it[1] for it in commands]
        if not done and (step in names or script_of(step) in names):
            done.append(step)
            act()

    def run_after(*command: Any, **options: Any) -> Any:
        meet([command])
        return run(*command, **options)

    def send_after(commands: Sequence[Sequence[Any]]) -> Any:
        meet(commands)
        return send(commands)

    link.run, link.send = run_after, send_after
    return done


def script_of(name: str) -> str:
    return script(name).digest if name.islower() else ""


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
        done = before(one, "free", lambda: other.append(ADA, "fork", [say("f1")]))
        one.settle()
        assert done
        assert one.statistics(ADA).sessions == 1
        assert one.admin.check() == []

    @pytest.mark.parametrize("meet", [lambda it: it.find_session(ADA, "s"), lambda it: it.settle()])
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

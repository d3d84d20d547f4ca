"""Appends to Redis that go out together: one script, and each caller's own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis import Redis
from servers.redis_watch import Watch

from sapwood.errors import (
    MessageConflictError,
    NotFoundError,
    StaleTipError,
    StoreCorruptError,
)
from sapwood.model import Appended, NewMessage, NewSession, Read
from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing.makers import ADA, fork_of, say, shown

from .acts import key_of, new_id

BOB = "bob"


@pytest.fixture
async def twin(redis_url: str, prefix: str) -> AsyncIterator[AsyncRedisStore]:
    async with AsyncRedisStore(redis_url, prefix=prefix, new_id=new_id) as store:
        yield store


async def together(
    store: AsyncRedisStore, *asked: tuple[str, str, list[NewMessage], dict[str, Any]]
) -> list[Appended | BaseException]:
    return await asyncio.gather(
        *(store.append(owner, session, batch, **at) for owner, session, batch, at in asked),
        return_exceptions=True,
    )


async def test_appends_that_arrive_together_are_one_script(
    twin: AsyncRedisStore, watch: Watch
) -> None:
    names = [f"s{n}" for n in range(20)]
    for name in names:
        for owner in (ADA, BOB):
            await twin.create_session(owner, NewSession(id=name))
            await twin.append(owner, name, [say("m1")])
    asked = [(owner, name, [say("m2")], {}) for name in names for owner in (ADA, BOB)][:32]
    loop = asyncio.get_running_loop()

    def work() -> None:
        asyncio.run_coroutine_threadsafe(together(twin, *asked), loop).result()

    # The first that comes is sent with all that came in the same turn of the loop.
    calls = await asyncio.to_thread(watch.calls, work)
    assert calls == ["EVALSHA"]
    for owner, name, _, _ in asked:
        assert shown(await twin.read(owner, name, Read())) == ["m1", "m2"]


async def test_each_owner_hears_of_its_own_trees(
    twin: AsyncRedisStore, redis_url: str, raw: Redis, prefix: str
) -> None:
    owners = (ADA, BOB, "eve")
    for owner in owners:
        await twin.create_session(owner, NewSession(id="s"))
        raw.delete(f"{prefix}:{{o:{owner}}}:h")  # as if that had been long ago
    async with AsyncRedisStore(redis_url, prefix=prefix, new_id=new_id) as other:
        for owner in owners:
            await other.append(owner, "s", [say("m1")])
            raw.delete(f"{prefix}:{{o:{owner}}}:h")
        other._runner.here()._context.marks.clear()
        await together(other, *((owner, "s", [say("m2")], {}) for owner in owners))
    for owner in owners:
        tree = key_of(raw, prefix, "s", "t", owner).split("{")[1].split("}")[0]
        assert raw.zrange(f"{prefix}:{{o:{owner}}}:h", 0, -1) == [tree.encode()]


async def test_each_is_told_its_own_outcome(twin: AsyncRedisStore, raw: Redis, prefix: str) -> None:
    for name in ("good", "known", "other", "tip", "gone", "bad", "source", "twice"):
        await twin.create_session(ADA, NewSession(id=name))
        await twin.append(ADA, name, [say("m1"), say("m2")])
    await twin.create_session(ADA, fork_of("source", "m1"))
    await twin.append(ADA, "fork", [say("f1")])
    raw.delete(key_of(raw, prefix, "gone", "s:gone"))
    raw.hset(key_of(raw, prefix, "bad", "s:bad"), "tip", "77 2 0 1")
    told = await together(
        twin,
        (ADA, "good", [say("m3"), say("m4")], {}),
        (ADA, "known", [say("m1")], {}),
        (ADA, "other", [say("m1", "not the same")], {}),
        (ADA, "tip", [say("m3")], {"expected_tip": "m1"}),
        (ADA, "gone", [say("m3")], {}),
        (ADA, "bad", [say("m3")], {}),
        (ADA, "fork", [say("m1")], {}),
        (ADA, "twice", [say("m3")], {}),
        (ADA, "twice", [say("m4")], {}),
        (ADA, "twice", [say("m3")], {}),
        (ADA, "nobody", [say("m3")], {}),
    )
    good, known, other, tip, gone, bad, fork, *twice, nobody = told
    assert isinstance(good, Appended)
    assert [it.depth for it in good.messages] == [3, 4]
    for it, written in ((known, 0), (fork, 0), *zip(twice, (1, 1, 0), strict=True)):
        assert isinstance(it, Appended)
        assert it.written == written
    assert isinstance(other, MessageConflictError)
    assert isinstance(tip, StaleTipError)
    assert isinstance(gone, NotFoundError)
    assert isinstance(nobody, NotFoundError)
    assert isinstance(bad, StoreCorruptError)
    assert shown(await twin.read(ADA, "twice", Read())) == ["m1", "m2", "m3", "m4"]
    assert shown(await twin.read(ADA, "good", Read())) == ["m1", "m2", "m3", "m4"]


def test_a_long_batch_is_written_by_few_commands_and_whole(store: RedisStore, watch: Watch) -> None:
    store.create_session(ADA, NewSession(id="s"))
    batch = [say(f"m{n}") for n in range(2500)]
    inside = watch.inside(lambda: store.append(ADA, "s", batch))
    assert len(inside) < 30
    assert shown(store.read(ADA, "s", Read())) == [f"m{n}" for n in range(2500)]
    assert [it and it.depth for it in store.find_messages(ADA, "s", ["m0", "m999", "m2499"])] == [
        1,
        1000,
        2500,
    ]
    again = store.append(ADA, "s", [*batch[-2:], say("new")])
    assert (again.written, again.messages[-1].depth) == (1, 2501)
    assert store.admin.check() == []

"""Opening a Redis store by a URL, or on a client of one's own."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from servers.url import with_parameters

import sapwood
from sapwood.errors import ClosedError, UsageError
from sapwood.model import NewSession, Read, SessionQuery
from sapwood.stores.redis import AsyncRedisStore, RedisStore
from sapwood.testing.makers import ADA, say, shown

from .acts import furnish, new_id


class TestOpening:
    def test_sessions_open_by_url(self, redis_url: str, prefix: str) -> None:
        url = with_parameters(redis_url, prefix=prefix, client_name="a-test")
        with sapwood.open(url, owner="ada") as sessions:
            chat = sessions.session("chat", title="with a \0 in it")
            chat.append("user", "Where is my order?")
            assert [it.text for it in chat.history().messages_only] == ["Where is my order?"]
            assert sessions.store.find_session("ada", "chat").title == "with a \0 in it"
            with pytest.raises(UsageError, match="the server's"):
                sapwood.open(url, durability="normal")

    async def test_the_async_twin_opens_by_url(self, redis_url: str, prefix: str) -> None:
        url = with_parameters(redis_url, prefix=prefix)
        async with sapwood.open_async(url, owner="ada") as sessions:
            chat = await sessions.session("chat")
            message = await chat.append("user", "hello")
            assert abs(message.created_us - time.time_ns() // 1000) < 60_000_000

    @pytest.mark.parametrize(
        "url",
        [
            "redis://ada:s3cret@host:port",
            "redis://ada:s3cret@host/?socket_timeout=x",
            "http://ada:s3cret@host",
            "s3cret",
        ],
    )
    def test_rule_15_a_url_that_is_none_is_refused_without_its_password(self, url: str) -> None:
        with pytest.raises(UsageError) as wrong:
            RedisStore(url, new_id=new_id)
        assert "s3cret" not in str(wrong.value)
        assert wrong.value.__suppress_context__ or wrong.value.__context__ is None

    @pytest.mark.parametrize("prefix", ["", "a{b", "a b", "x" * 65, "é", "a*"])
    def test_rule_15_a_prefix_that_would_move_slots_is_refused(self, prefix: str) -> None:
        with pytest.raises(UsageError) as wrong:
            RedisStore("redis://host", new_id=new_id, prefix=prefix)
        assert wrong.value.path == "prefix"

    def test_rule_15_a_time_to_live_that_is_none_is_refused(self) -> None:
        for seconds in (0, -1, float("nan"), float("inf"), True, "1"):
            with pytest.raises(UsageError):
                RedisStore("redis://host", new_id=new_id, session_ttl_s=seconds)
        with pytest.raises(UsageError, match="ttl"):
            sapwood.open("redis://host?ttl=soon")

    def test_a_store_takes_a_url_or_a_client(self) -> None:
        with pytest.raises(UsageError):
            RedisStore(new_id=new_id)
        with pytest.raises(UsageError, match=r"redis\.Redis"):
            RedisStore(client=AsyncRedis(), new_id=new_id)
        with pytest.raises(UsageError, match=r"redis\.asyncio"):
            AsyncRedisStore(client=Redis(), new_id=new_id)

    def test_a_client_is_used_and_left_open(self, raw: Redis, prefix: str) -> None:
        with RedisStore(client=raw, prefix=prefix, new_id=new_id) as store:
            furnish(store)
        assert raw.ping()
        with RedisStore(client=raw, prefix=prefix, new_id=new_id) as store:
            assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]

    async def test_the_async_twin_leaves_a_client_open(self, redis_url: str, prefix: str) -> None:
        async with AsyncRedis.from_url(redis_url) as client:
            async with AsyncRedisStore(client=client, prefix=prefix, new_id=new_id) as store:
                await store.create_session(ADA, NewSession(id="s"))
                assert (await store.append(ADA, "s", [say("m1")])).written == 1
            assert await client.ping()

    # The connection of the first loop cannot be closed any more.
    @pytest.mark.filterwarnings("ignore::ResourceWarning")
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_a_client_that_was_used_on_another_loop_is_told_in_our_words(
        self, redis_url: str, prefix: str
    ) -> None:
        def use_on_two_loops() -> None:
            client = AsyncRedis.from_url(redis_url)
            store = AsyncRedisStore(client=client, prefix=prefix, new_id=new_id)

            async def ping() -> None:
                await client.ping()

            asyncio.run(ping())
            with pytest.raises(UsageError, match="another event loop"):
                asyncio.run(store.find_session(ADA, "s"))

        use_on_two_loops()
        gc.collect()

    def test_a_client_that_decodes_is_refused(self, redis_url: str) -> None:
        with pytest.raises(UsageError, match="decode_responses"):
            RedisStore(client=Redis.from_url(redis_url, decode_responses=True), new_id=new_id)

    def test_a_client_of_the_older_protocol_is_as_good(self, redis_url: str, prefix: str) -> None:
        with Redis.from_url(redis_url, protocol=2) as client:
            store = RedisStore(client=client, prefix=prefix, new_id=new_id)
            furnish(store)
            assert shown(store.read(ADA, "s", Read())) == ["m1", "<o>", "m4"]
            listed = store.list_sessions(ADA, SessionQuery()).sessions
            assert {it.id for it in listed} == {"s", "fork"}
            assert store.admin.check() == []


def test_threads_at_work_are_told_that_the_store_was_closed(
    open_store: Callable[..., RedisStore],
) -> None:
    store = open_store()
    store.create_session(ADA, NewSession(id="s"))
    told: list[type[BaseException]] = []

    def work(call: Callable[[], object]) -> None:
        try:
            while True:
                call()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is looked at
            told.append(type(error))

    calls: list[Callable[[], object]] = [
        lambda: store.append(ADA, "s", [say(None)]),
        lambda: store.read(ADA, "s", Read(limit=5, backwards=True)),
        lambda: store.put_document(ADA, "k", b"", session="s"),
    ]
    threads = [threading.Thread(target=work, args=(call,)) for call in calls * 5]
    for thread in threads:
        thread.start()
    while store.read(ADA, "s", Read()).entries == []:
        pass
    store.close()
    for thread in threads:
        thread.join()
    assert set(told) == {ClosedError}

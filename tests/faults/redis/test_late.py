"""Answers that break off or come late, and requests that never arrive."""

from __future__ import annotations

import pytest
from servers.proxy import Proxy

from sapwood.model import NewSession, Read
from sapwood.testing import COUNTS

from ..late import (
    give_up_an_answer_that_is_too_late,
    wait_for_late_answers,
    wait_for_late_answers_on_a_loop,
)
from ..tried import tried
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

# An answer to an append begins with the number of its parts: it breaks off in that, and after it.
KEPT_BYTES = [1, 3, 6]


# With one connection, the next answer is that to the append, and not to another one that is made.
@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
def test_rule_02_an_append_whose_answer_broke_off_is_written_once(
    proxy: Proxy, proxied: str, prefix: str, kept_bytes: int
) -> None:
    with open_store(proxied, prefix, most_connections=1) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        for id in ("m1", None):
            before = ids_in(store)
            proxy.truncate_next_answer(kept_bytes)
            done = store.append(ADA, "s", [say(id), say(None)])
            assert ids_in(store) == [*before, *(it.id for it in done.messages)]
        proxy.truncate_next_answer(kept_bytes)
        assert len(ids_in(store)) == 5
        assert store.append(ADA, "s", [say("m1")]).written == 0
        assert proxy.truncated == 3
        assert store.admin.check() == []
    tried("Redis", "answer truncated", 3)


@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
async def test_rule_02_the_same_on_a_loop(
    proxy: Proxy, proxied: str, prefix: str, kept_bytes: int
) -> None:
    async with open_async_store(proxied, prefix, most_connections=1) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m0")])
        for id in ("m1", None):
            proxy.truncate_next_answer(kept_bytes)
            assert len((await store.append(ADA, "s", [say(id), say(None)])).messages) == 2
        proxy.truncate_next_answer(kept_bytes)
        found = [it.id for it in (await store.read(ADA, "s", Read())).messages_only]
        assert (len(found), found[:2]) == (5, ["m0", "m1"])
        assert proxy.truncated == 3
        assert await store.admin.check() == []
    tried("Redis", "answer truncated", 3)


def test_an_append_that_never_arrived_is_sent_again(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix, most_connections=1) as store:
        make_session(store)
        for n in range(2):
            proxy.lose_next_request()
            assert store.append(ADA, "s", [say(f"m{n}")]).written == 1
        assert proxy.lost == 2
        assert ids_in(store) == ["m0", "m1"]
    COUNTS["Redis: requests lost"] += 2


async def test_answers_that_are_late_are_waited_for(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix) as store:
        wait_for_late_answers(store, proxy)
    async with open_async_store(proxied, f"{prefix}-a") as twin:
        tried("Redis", "answer delayed", await wait_for_late_answers_on_a_loop(twin, proxy))


def test_rule_02_an_answer_that_is_too_late_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, prefix: str
) -> None:
    with open_store(proxied, prefix, answer_within_s=0.5) as store:
        tried("Redis", "answer delayed", give_up_an_answer_that_is_too_late(store, proxy, 1))

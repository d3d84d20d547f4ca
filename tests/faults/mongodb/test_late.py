"""Answers that break off or come late."""

from __future__ import annotations

import pytest
from servers.proxy import Proxy

from sapwood.model import NewSession, Read

from ..late import (
    give_up_an_answer_that_is_too_late,
    wait_for_late_answers,
    wait_for_late_answers_on_a_loop,
)
from ..tried import tried
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

KEPT_BYTES = [3, 30]


@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
def test_rule_02_an_append_whose_answer_broke_off_is_written_once(
    proxy: Proxy, proxied: str, database: str, kept_bytes: int
) -> None:
    with open_store(proxied, database) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        # By an id of a client's it is looked up first; with one of ours it is only written.
        for id in ("m1", None):
            before = ids_in(store)
            proxy.truncate_next_answer(kept_bytes)
            done = store.append(ADA, "s", [say(id)])
            assert ids_in(store) == [*before, done.messages[0].id]
        proxy.truncate_next_answer(kept_bytes)
        assert len(ids_in(store)) == 3
        assert proxy.truncated == 3
    tried("MongoDB", "answer truncated", 3)


@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
async def test_rule_02_the_same_on_a_loop(
    proxy: Proxy, proxied: str, database: str, kept_bytes: int
) -> None:
    async with open_async_store(proxied, database) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m0")])
        for id in ("m1", None):
            proxy.truncate_next_answer(kept_bytes)
            await store.append(ADA, "s", [say(id)])
        proxy.truncate_next_answer(kept_bytes)
        found = [it.id for it in (await store.read(ADA, "s", Read())).messages_only]
        assert (len(found), found[:2]) == (3, ["m0", "m1"])
        assert proxy.truncated == 3
    tried("MongoDB", "answer truncated", 3)


async def test_answers_that_are_late_are_waited_for(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database) as store:
        wait_for_late_answers(store, proxy)
    async with open_async_store(proxied, f"{database}_a") as twin:
        tried("MongoDB", "answer delayed", await wait_for_late_answers_on_a_loop(twin, proxy))


def test_rule_02_an_answer_that_is_too_late_is_told_and_a_retry_writes_once(
    proxy: Proxy, proxied: str, database: str
) -> None:
    with open_store(proxied, database, patience_s=1, answer_within_s=0.5) as store:
        tried("MongoDB", "answer delayed", give_up_an_answer_that_is_too_late(store, proxy, 1))

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
from .support import (
    ADA,
    Place,
    ids_in,
    lose_commits,
    make_session,
    open_async_store,
    open_store,
    say,
)

# In the length of what comes, in what it is, and in what it says.
KEPT_BYTES = [1, 5, 9]


@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
@pytest.mark.parametrize("count", [1, 2])
def test_rule_02_an_append_whose_answer_broke_off_is_written_once(
    proxied_place: tuple[Proxy, Place], prefix: str, count: int, kept_bytes: int
) -> None:
    proxy, place = proxied_place
    with open_store(place.url, prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m0")])
        if count == 1:
            # One message is written and committed in one round trip.
            proxy.truncate_next_answer(kept_bytes)
        else:
            lose_commits(store, proxy, kept_bytes)
        done = store.append(ADA, "s", [say("m1"), say(None)][:count])
        assert ids_in(store) == ["m0", *(it.id for it in done.messages)]
        assert store.append(ADA, "s", [say("m1")]).written == 0
        assert proxy.truncated == 1
        proxy.truncate_next_answer(kept_bytes)
        assert len(ids_in(store)) == 1 + count
        assert proxy.truncated == 2
        assert store.admin.check() == []
    tried(place.name, "answer truncated", 2)


@pytest.mark.parametrize("kept_bytes", KEPT_BYTES)
async def test_rule_02_the_same_on_a_loop(
    proxied_place: tuple[Proxy, Place], prefix: str, kept_bytes: int
) -> None:
    proxy, place = proxied_place
    async with open_async_store(place.url, prefix) as store:
        await store.create_session(ADA, NewSession(id="s"))
        await store.append(ADA, "s", [say("m0")])
        for id in ("m1", None):
            proxy.truncate_next_answer(kept_bytes)
            await store.append(ADA, "s", [say(id)])
        proxy.truncate_next_answer(kept_bytes)
        found = [it.id for it in (await store.read(ADA, "s", Read())).messages_only]
        assert (len(found), found[:2]) == (3, ["m0", "m1"])
        assert proxy.truncated == 3
        assert await store.admin.check() == []
    tried(place.name, "answer truncated", 3)


def test_an_append_that_never_arrived_is_sent_again(
    proxied_place: tuple[Proxy, Place], prefix: str
) -> None:
    proxy, place = proxied_place
    with open_store(place.url, prefix) as store:
        make_session(store)
        for n in range(2):
            proxy.lose_next_request()
            assert store.append(ADA, "s", [say(f"m{n}")]).written == 1
        assert proxy.lost == 2
        assert ids_in(store) == ["m0", "m1"]
    COUNTS[f"{place.name}: requests lost"] += 2


async def test_answers_that_are_late_are_waited_for(
    proxied_place: tuple[Proxy, Place], prefix: str
) -> None:
    proxy, place = proxied_place
    with open_store(place.url, prefix) as store:
        wait_for_late_answers(store, proxy)
    async with open_async_store(place.url, f"{prefix}a_") as twin:
        tried(place.name, "answer delayed", await wait_for_late_answers_on_a_loop(twin, proxy))


def test_rule_02_an_answer_that_is_too_late_is_told_and_a_retry_writes_once(
    proxied_place: tuple[Proxy, Place], prefix: str
) -> None:
    proxy, place = proxied_place
    with open_store(place.url, prefix, answer_within_s=0.5) as store:
        tried(place.name, "answer delayed", give_up_an_answer_that_is_too_late(store, proxy, 1))

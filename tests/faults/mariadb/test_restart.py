"""Rule 1: what was acknowledged is there after the server was killed and started again."""

from __future__ import annotations

import pytest
from servers.mariadb import MariaDbServer
from tier import often

from sapwood.errors import StoreUnavailableError

from ..tried import tried
from ..writers import AsyncWriters, Writers
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

ROUNDS = often(1, 3)


@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_kills_in_the_middle_of_writes(
    server: MariaDbServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        with Writers(store) as writers:
            for _ in range(ROUNDS):
                writers.wait_for_more()
                server.kill()
                server.start()
            writers.wait_for_more()
        writers.check()
    tried("MariaDB", "server killed in the middle of writes", ROUNDS)


@pytest.mark.fault
async def test_rule_01_what_tasks_were_told_survives_kills_in_the_middle_of_writes(
    server: MariaDbServer, prefix: str
) -> None:
    async with open_async_store(server.url(), prefix) as store:
        async with AsyncWriters(store) as writers:
            for _ in range(ROUNDS):
                await writers.let_die(server)
        await writers.check()
    tried("MariaDB", "server killed in the middle of writes", ROUNDS)


def test_a_server_that_is_gone_is_told_and_one_that_came_back_is_used(
    server: MariaDbServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        make_session(store)
        store.append(ADA, "s", [say("m1")])
        server.stop()
        try:
            with pytest.raises(StoreUnavailableError) as caught:
                store.append(ADA, "s", [say("m2")])
            assert caught.value.retryable
            with pytest.raises(StoreUnavailableError):
                ids_in(store)
        finally:
            server.start()
        assert ids_in(store) == ["m1"]
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


async def test_the_async_twin_goes_on_after_a_restart(server: MariaDbServer, prefix: str) -> None:
    with open_store(server.url(), prefix) as other:
        make_session(other)
    async with open_async_store(server.url(), prefix) as store:
        await store.append(ADA, "s", [say("m1")])
        server.kill()
        server.start()
        done = await store.append(ADA, "s", [say("m2")])
        assert done.messages[0].depth == 2
        server.stop()
        try:
            with pytest.raises(StoreUnavailableError) as caught:
                await store.append(ADA, "s", [say("m3")])
            assert caught.value.retryable
        finally:
            server.start()
        assert (await store.append(ADA, "s", [say("m3")])).messages[0].depth == 3

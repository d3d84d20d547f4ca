"""Rule 1: what was acknowledged is there after a server or a client was killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pymongo import MongoClient
from servers.mongodb import FerretServer
from tier import often

from sapwood.errors import StoreUnavailableError
from sapwood.testing import COUNTS

from ..tried import tried
from ..writers import AsyncWriters, Writers
from .support import ADA, ids_in, make_session, open_async_store, open_store, say

WRITER = Path(__file__).with_name("writer.py")
WRITERS = 3
ROUNDS = often(1, 2)


@pytest.mark.fault
def test_rule_01_acknowledged_messages_survive_kills_in_the_middle_of_writes(
    server: FerretServer, database: str
) -> None:
    with open_store(server.url(), database, patience_s=5) as store:
        with Writers(store, WRITERS) as writers:
            for _ in range(ROUNDS):
                writers.wait_for_more(20)
                server.kill()
                server.start()
            writers.wait_for_more(20)
        writers.check()
    tried("MongoDB", "server killed in the middle of writes", ROUNDS)


@pytest.mark.fault
async def test_rule_01_what_tasks_were_told_survives_kills_in_the_middle_of_writes(
    server: FerretServer, database: str
) -> None:
    async with open_async_store(server.url(), database, patience_s=5) as store:
        async with AsyncWriters(store) as writers:
            for _ in range(ROUNDS):
                await writers.let_die(server)
        await writers.check()
    tried("MongoDB", "server killed in the middle of writes", ROUNDS)


def test_a_server_that_is_gone_is_told_and_one_that_came_back_is_used(
    server: FerretServer, database: str
) -> None:
    with open_store(server.url(), database, patience_s=0.5) as store:
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
        COUNTS["MongoDB: server gone and back"] += 1
        assert ids_in(store) == ["m1"]
        store.append(ADA, "s", [say("m2")])
        assert ids_in(store) == ["m1", "m2"]


async def test_the_async_twin_goes_on_after_a_restart(server: FerretServer, database: str) -> None:
    with open_store(server.url(), database) as other:
        make_session(other)
    async with open_async_store(server.url(), database) as store:
        await store.append(ADA, "s", [say("m1")])
        server.kill()
        server.start()
        done = await store.append(ADA, "s", [say("m2")])
        assert (done.written, done.messages[0].depth) == (1, 2)


@pytest.mark.fault
def test_a_client_killed_between_commit_and_apply_leaves_nothing_undone(
    server: FerretServer, database: str
) -> None:
    command = [sys.executable, str(WRITER), server.url(), database, "s", "200", "die"]
    died = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert died.returncode == -9
    tried("MongoDB", "client killed between commit and apply")
    told = died.stdout.split()
    assert told
    with open_store(server.url(), database) as store:
        found = ids_in(store)
        assert found[: len(told)] == told
        for id in (told[0], told[-1]):
            # A retry by the same id finds what the dead one wrote, look-ups or not.
            assert store.append(ADA, "s", [say(id, id.removeprefix("die-"))]).written == 0
        store.append(ADA, "s", [say("after")])
        store.finish_deletions()
        assert ids_in(store) == [*found, "after"]
        assert store.admin.check() == []


STARTING = 4
EACH = 3


@pytest.mark.fault
def test_several_processes_that_start_at_once_set_up_one_store(
    server: FerretServer, database: str
) -> None:
    begun = [
        subprocess.Popen(
            [sys.executable, str(WRITER), server.url(), database, "s", str(EACH), f"p{n}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(STARTING)
    ]
    for process in begun:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
    COUNTS["MongoDB: processes that start at once"] += STARTING
    with open_store(server.url(), database) as store, MongoClient(server.url()) as raw:
        assert sorted(ids_in(store)) == [f"p{n}-{k}" for n in range(STARTING) for k in range(EACH)]
        assert store.admin.check() == []
        assert list(raw[database]["sapwood_schema"].find({})) == [{"_id": 1}]
        names = {it["name"] for it in raw[database]["sapwood_records"].list_indexes()}
        assert names == {"_id_", "segment"}

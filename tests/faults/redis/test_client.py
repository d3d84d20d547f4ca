"""Processes that are killed: in the middle of writes, and between a commit and what follows it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis
from servers.redis import RedisServer

from sapwood.errors import NotFoundError
from sapwood.model import ChangeKind, NewSession, SessionQuery
from sapwood.stores.redis import RedisStore
from sapwood.testing.makers import ids_told

from ..tried import tried
from .support import ADA, ids_in, make_session, open_store, say

PROGRAM = Path(__file__).with_name("client.py")
PROCESSES = 3


def start(url: str, prefix: str, what: str, number: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), url, prefix, what, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)


def let_die(server: RedisServer, prefix: str, what: str) -> None:
    """Let a process do something, and end in the middle of it."""
    process = start(server.url(), prefix, what)
    process.communicate()
    assert process.returncode == 9
    tried("Redis", "client killed between commit and apply")


def age_claims(server: RedisServer, prefix: str) -> None:
    """Make claims and marks look as if they were made long ago."""
    with Redis(port=server.port) as raw:
        key = f"{prefix}:{{o:{ADA}}}:d"
        for name, value in raw.hgetall(key).items():  # type: ignore[union-attr]
            tree, number, _, *rest = value.split()
            raw.hset(key, name, b" ".join([tree, number, b"1", *rest]))
        key = f"{prefix}:{{o:{ADA}}}:h"
        for tree in raw.zrange(key, 0, -1):  # type: ignore[union-attr]
            raw.zadd(key, {tree: 1})


def trees_left(server: RedisServer, prefix: str) -> set[bytes]:
    with Redis(port=server.port) as raw:
        keys = raw.scan_iter(match=f"{prefix}:*", count=1_000)
        tags = {key.split(b"{", 1)[1].split(b"}")[0] for key in keys if b"{" in key}
    # The floor is how high the versions of what was deleted were: one number for all.
    return {tag for tag in tags if not tag.startswith(b"o:") and tag != b"floor"}


@pytest.mark.fault
def test_rule_01_what_killed_processes_were_told_is_there_once(
    server: RedisServer, prefix: str
) -> None:
    with open_store(server.url(), prefix) as store:
        processes = [start(server.url(), prefix, "write", n) for n in range(PROCESSES)]
        told: list[list[str]] = []
        for process in processes:
            assert process.stdout is not None
            first = [process.stdout.readline().strip() for _ in range(30)]
            process.kill()
            rest, _ = process.communicate()
            told.append([*first, *rest.split()])
            tried("Redis", "client killed in the middle of writes")
        there = ids_in(store)
        assert len(there) == len(set(there))
        for number, own in enumerate(told):
            written = [id for id in there if id.startswith(f"p{number}-")]
            # The last one may have been written without its process hearing of it.
            assert written in (own, [*own, f"p{number}-{len(own)}"])
            assert store.append(ADA, "s", [say(own[-1], own[-1].split("-")[1])]).written == 0
        assert ids_told(store.changes(ADA, limit=10_000)) == there
        assert store.admin.check() == []


class TestBetweenTwoSteps:
    @pytest.fixture
    def store(self, server: RedisServer, prefix: str):  # type: ignore[no-untyped-def]
        with open_store(server.url(), prefix) as store:
            make_session(store)
            store.append(ADA, "s", [say("m1"), say("m2")])
            yield store

    @pytest.mark.parametrize("what", ["claim", "detach"])
    def test_a_name_whose_session_was_never_created_is_free(
        self, server: RedisServer, prefix: str, store: RedisStore, what: str
    ) -> None:
        let_die(server, prefix, what)
        assert store.find_session(ADA, "new") is None
        assert [it.id for it in store.list_sessions(ADA, SessionQuery()).sessions] == ["s"]
        with pytest.raises(NotFoundError):
            store.append(ADA, "new", [say("m1")])
        age_claims(server, prefix)
        store.create_session(ADA, NewSession(id="new"))
        assert store.append(ADA, "new", [say("m1")]).written == 1
        store.finish_deletions()
        assert store.admin.check() == []
        assert len(trees_left(server, prefix)) == 2

    def test_a_copy_that_was_never_finished_is_swept(
        self, server: RedisServer, prefix: str, store: RedisStore
    ) -> None:
        let_die(server, prefix, "copy")
        store.finish_deletions()
        age_claims(server, prefix)
        store.finish_deletions()
        assert len(trees_left(server, prefix)) == 1
        assert ids_in(store) == ["m1", "m2"]

    def test_a_session_that_was_created_is_there(
        self, server: RedisServer, prefix: str, store: RedisStore
    ) -> None:
        let_die(server, prefix, "create")
        assert store.append(ADA, "new", [say("m1")]).written == 1
        listed = store.list_sessions(ADA, SessionQuery()).sessions
        assert {it.id for it in listed} == {"s", "new"}
        assert store.admin.check() == []

    def test_a_session_that_was_deleted_is_gone_and_told(
        self, server: RedisServer, prefix: str, store: RedisStore
    ) -> None:
        cursor = store.changes(ADA).cursor
        let_die(server, prefix, "delete")
        assert store.find_session(ADA, "s") is None
        with pytest.raises(NotFoundError):
            store.append(ADA, "s", [say("m3")])
        assert store.list_sessions(ADA, SessionQuery()).sessions == []
        told = store.changes(ADA, after=cursor).changes
        assert [it.kind for it in told] == [ChangeKind.RETIRE]
        age_claims(server, prefix)
        make_session(store)
        assert store.append(ADA, "s", [say("m1")]).written == 1
        store.finish_deletions()
        assert len(trees_left(server, prefix)) == 1

    def test_changes_that_were_noted_are_told_once(
        self, server: RedisServer, prefix: str, store: RedisStore
    ) -> None:
        let_die(server, prefix, "publish")
        assert ids_told(store.changes(ADA)) == ["m1", "m2"]
        store.append(ADA, "s", [say("m3")])
        assert ids_told(store.changes(ADA)) == ["m1", "m2", "m3"]

"""A cluster with replicas: one takes over for its primary while somebody writes."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ResponseError
from servers.redis import DURABLE, RedisServer, program
from servers.redis_cluster import ClusterOfServers, _port

from sapwood.testing import COUNTS

from ..tried import tried
from ..writers import Writers
from .conftest import need
from .support import open_store


class WithReplica:
    """A cluster of its own, and one server that copies the first."""

    def __init__(self, cluster: ClusterOfServers, replica: RedisServer) -> None:
        self.cluster = cluster
        self.primary, *_ = cluster.servers
        self.replica = replica

    def join(self) -> None:
        """Let the replica copy the first, and wait until all know of it."""
        to = [f"127.0.0.1:{server.port}" for server in (self.replica, self.primary)]
        tool = [program("redis-cli") or "", "--cluster", "add-node", *to]
        command = [*tool, "--cluster-slave", "--cluster-master-id", _id(self.primary)]
        subprocess.run(command, check=True, capture_output=True)
        self.wait_for(self.replica, "slave")
        mark = f"{_id(self.replica)} 127.0.0.1:{self.replica.port}"
        for server in self.cluster.servers:
            _wait(lambda it=server: _knows_replica(it, mark))

    def wait_for(self, server: RedisServer, role: str) -> None:
        """Wait until a server has a role, and a copy of everything."""

        def has_it() -> bool:
            with Redis(port=server.port) as node:
                told: dict[str, Any] = node.info("replication")
            return told["role"] == role and told.get("master_link_status", "up") == "up"

        _wait(has_it)

    def take_over(self, server: RedisServer) -> None:
        """Tell a replica to take over; it gives up when the others do not agree in time."""

        def has_taken_over() -> bool:
            with Redis(port=server.port) as node:
                if node.info("replication")["role"] == "master":
                    return True
                with contextlib.suppress(ResponseError):
                    node.execute_command("CLUSTER", "FAILOVER")
            return False

        _wait(has_taken_over, pause_s=1.0)

    def remove(self) -> None:
        self.replica.remove()
        self.cluster.remove()


def _id(server: RedisServer) -> str:
    with Redis(port=server.port) as node:
        id: bytes = node.execute_command("CLUSTER", "MYID")
    return id.decode()


def _knows_replica(server: RedisServer, mark: str) -> bool:
    with Redis(port=server.port) as node:
        known: dict[str, Any] = node.cluster("NODES")
    id, address = mark.split(" ")
    told = known.get(address, {})
    return told.get("node_id") == id and "slave" in told["flags"] and told["connected"]


def _wait(is_done: Callable[[], bool], pause_s: float = 0.05) -> None:
    deadline = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < deadline, "the cluster does not settle"
        time.sleep(pause_s)


@pytest.fixture
def copied(request: pytest.FixtureRequest) -> Iterator[WithReplica]:
    need(request, "redis_cluster")
    cluster = ClusterOfServers(*DURABLE)
    settings = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", *DURABLE)
    copied = WithReplica(cluster, RedisServer(*settings, port=_port()))
    try:
        copied.join()
        yield copied
    finally:
        copied.remove()


@pytest.mark.fault
def test_rule_01_nothing_is_lost_when_a_replica_is_told_to_take_over(copied: WithReplica) -> None:
    with open_store(copied.cluster.url(), "failover") as store:
        with Writers(store) as writers:
            for new, old in ((copied.replica, copied.primary), (copied.primary, copied.replica)):
                writers.wait_for_more()
                copied.take_over(new)
                copied.wait_for(old, "slave")
                COUNTS["failovers of a Redis Cluster, asked for"] += 1
            writers.wait_for_more()
        writers.check()


@pytest.mark.fault
def test_after_the_loss_of_a_primary_the_store_goes_on_with_its_replica(
    copied: WithReplica,
) -> None:
    with open_store(copied.cluster.url(), "loss") as store:
        with Writers(store) as writers:
            writers.wait_for_more()
            with Redis(port=copied.primary.port) as node:
                assert node.wait(1, 5_000) == 1
            copied.primary.kill()
            copied.wait_for(copied.replica, "master")
            tried("Redis", "node of the cluster gone")
            writers.wait_for_more()
        # What had not reached the replica is lost: only what is there has to hold together.
        assert not writers.wrong
        assert [it for it in store.admin.check() if it.kind in ("message", "segment")] == []

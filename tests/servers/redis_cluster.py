"""A Redis Cluster for tests: one that is given by its URL, or three servers of our own."""

from __future__ import annotations

import atexit
import subprocess
import time
from functools import cache

from redis import Redis, RedisCluster

from . import running, whole_run
from .process import free_port
from .redis import RedisServer, prefix, program
from .seen import note_once

VARIABLE = "SAPWOOD_TEST_REDIS_CLUSTER_URL"
MISSING = f"there is no Redis Cluster: run `make servers`, or set {VARIABLE}"
NODES = 3


class ClusterOfServers:
    """Three servers, which share all slots."""

    def __init__(self, *settings: str) -> None:
        tool = program("redis-cli")
        if tool is None or program() is None:
            raise FileNotFoundError(MISSING)
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", *settings)
        self.servers = [RedisServer(*options, port=_port()) for _ in range(NODES)]
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        command = [tool, "--cluster", "create", *addresses, "--cluster-yes"]
        subprocess.run(command, check=True, capture_output=True)
        self.wait_until_whole()
        note_once(ClusterOfServers, lambda: version_of(self.url()))

    def wait_until_whole(self) -> None:
        """Wait until every server knows that all slots are served."""
        deadline = time.monotonic() + 30
        for server in self.servers:
            with Redis(port=server.port) as client:
                while client.cluster("INFO")["cluster_state"] != "ok":
                    if time.monotonic() > deadline:
                        raise RuntimeError("the cluster does not become whole")
                    time.sleep(0.05)

    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.servers[0].port}"

    def remove(self) -> None:
        for server in self.servers:
            server.remove()


def _port() -> int:
    # Servers of a cluster talk to each other on a port that is 10,000 higher.
    while True:
        port = free_port()
        if port < 55_000:
            return port


@cache
def shared_url() -> str | None:
    """Give the cluster of this run of tests; None when none can be had."""
    given = running.given(VARIABLE, "redis_cluster")
    if given:
        atexit.register(forget, given)
        return given
    return whole_run.url_of("redis_cluster")


def version() -> str:
    """Tell which servers these are."""
    return version_of(shared_url() or "")


def version_of(url: str) -> str:
    with connect(url) as client:
        found = client.info("server", target_nodes=RedisCluster.RANDOM)["redis_version"]
        return f"Redis Cluster {found}, {len(client.get_primaries())} nodes"


def connect(url: str) -> RedisCluster:
    """Connect to where a URL says."""
    return RedisCluster.from_url(url.replace("+cluster", "", 1))


@cache
def client() -> RedisCluster:
    """Give a client, which is open until the end."""
    client = connect(shared_url() or "")
    atexit.register(client.close)
    return client


def empty() -> None:
    """Remove the keys of this process."""
    _remove_keys(client())


def forget(url: str) -> None:
    """Remove all that this process put on the servers."""
    with connect(url) as client:
        _remove_keys(client)


def _remove_keys(client: RedisCluster) -> None:
    for key in list(client.scan_iter(match=f"{prefix()}:*", count=1_000)):
        client.delete(key)

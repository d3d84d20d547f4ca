"""OpenSearch for tests: one that is given by its URL, or one of our own.

Our own is started from the jars that `make servers` gathers, once in each run of tests, and
is stopped at the end. It does not wait for the disk unless that is asked for.
"""

from __future__ import annotations

import atexit
import base64
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import OpenSearchException

from sapwood.stores.opensearch.address import read_address

from . import running, whole_run
from .names import own
from .process import Folder, free_port
from .seen import note_once

VARIABLE = "SAPWOOD_TEST_OPENSEARCH_URL"
MISSING = f"there is no OpenSearch: run `make servers`, or set {VARIABLE}"
JARS = Path(__file__).resolve().parents[2] / ".servers" / "opensearch"
# The runner looks for a free port from the given one on, and not above 9299.
PORTS = range(9200, 9290)
HTTP_PORT = re.compile(r"HTTP Port:\s+(\d+)")
START_S = 240
# With half of it the full tier's tests, which all use one server, trip its circuit breaker.
HEAP_MB = 1024
_PARAMETERS = {"prefix", "refresh", "shards", "replicas"}


def is_there() -> bool:
    return JARS.is_dir() and shutil.which("java") is not None


class OpenSearchNode:
    """A node, alone or one of a cluster, that can be stopped, killed and started again."""

    def __init__(self, name: str = "node-1", peers: dict[str, int] | None = None) -> None:
        if not is_there():
            raise FileNotFoundError(MISSING)
        self._folder = Folder("os", "")
        self._folder.user = None  # it runs as whoever runs the tests
        self.name = name
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        config = self._folder.path / "node_1" / "config"
        config.mkdir(parents=True)
        (config / "opensearch.yml").write_text(_settings(name, peers))

    def begin(self) -> None:
        """Start it, and do not wait."""
        log = self._folder.path / "log"
        log.unlink(missing_ok=True)
        self._process = self._folder.start(
            [
                *("java", "-Xms512m", f"-Xmx{HEAP_MB}m", "-cp", f"{JARS}/*"),
                "org.codelibs.opensearch.runner.OpenSearchRunner",
                *("-basePath", self._folder.path, "-numOfNode", "1"),
                *("-baseHttpPort", str(random.choice(PORTS) if not self.port else self.port - 1)),
            ]
        )

    def wait(self) -> None:
        """Wait until it answers and has what it needs to work."""
        assert self._process is not None
        deadline = time.monotonic() + START_S
        log = self._folder.path / "log"
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"the server ended: {log.read_text()[-2000:]}")
            found = HTTP_PORT.search(log.read_text())
            if found:
                self.port = int(found[1])
                if self._answers():
                    note_once(OpenSearchNode, lambda: version_of(self.url()))
                    return
            time.sleep(0.1)
        raise RuntimeError(f"the server does not answer: {log.read_text()[-2000:]}")

    def start(self) -> None:
        self.begin()
        self.wait()

    def _answers(self) -> bool:
        try:
            with connect(self.url()) as client:
                client.cluster.health(params={"wait_for_status": "yellow"})
        except OpenSearchException:
            return False
        return True

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def has(self, count: int) -> bool:
        """Tell whether it sees so many nodes, and all shards of theirs at work."""
        try:
            with connect(self.url()) as client:
                found = client.cluster.health()
        except OpenSearchException:
            return False
        return bool(found["number_of_nodes"] == count and found["status"] == "green")

    def url(self) -> str:
        return f"opensearch://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """Kill it, as the kernel would."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Let it end what it does and go."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def remove(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._folder.remove()


def _settings(name: str, peers: dict[str, int] | None) -> str:
    given: dict[str, Any] = {"network.host": "127.0.0.1", "node.name": name}
    given["cluster.routing.allocation.disk.threshold_enabled"] = "false"
    if peers is None:
        given |= {"transport.port": free_port(), "discovery.type": "single-node"}
    else:
        seeds = ", ".join(f'"127.0.0.1:{port}"' for port in peers.values())
        given |= {
            "transport.port": peers[name],
            "discovery.seed_hosts": f"[{seeds}]",
            # By their places: the runner gives every node of a process the same name.
            "cluster.initial_cluster_manager_nodes": f"[{seeds}]",
        }
    return "".join(f"{key}: {value}\n" for key, value in given.items())


def connect(url: str) -> OpenSearch:
    """Connect to where a URL says, with TLS or without."""
    return OpenSearch(**options_of(url))


def options_of(url: str) -> dict[str, Any]:
    """Give what the driver's client takes."""
    return {**read_address(url, _PARAMETERS)[0], "max_retries": 0, "timeout": 60}


@cache
def shared_url() -> str | None:
    """Give the server of this run of tests; None when none can be had."""
    given = running.given(VARIABLE, "opensearch")
    if given:
        atexit.register(forget, given)
        return given
    return whole_run.url_of("opensearch")


def hurry(url: str) -> None:
    """Let a server that is thrown away at the end not wait for the disk."""
    hurried = {"index.translog.durability": "async", "index.number_of_replicas": 0}
    body = {"index_patterns": ["*"], "template": {"settings": hurried}}
    with connect(url) as client:
        client.indices.put_index_template(name="hurried", body=body)


@cache
def admin() -> OpenSearch:
    """Give a client that looks at the server beside the store."""
    client = connect(shared_url() or "")
    atexit.register(client.close)
    return client


def version() -> str:
    """Tell which server this is."""
    return version_of(shared_url() or "")


def version_of(url: str) -> str:
    with connect(url) as client:
        return f"OpenSearch {client.info()['version']['number']}"


def prefix() -> str:
    """Give a prefix that is this process's own."""
    return own()


def empty() -> None:
    """Empty the indices of this process; they stay, so that each test begins at once."""
    client = admin()
    names = f"{prefix()}-*"
    client.indices.refresh(index=names)
    client.delete_by_query(
        index=names,
        body={"query": {"match_all": {}}},
        params={"conflicts": "proceed", "refresh": "true"},
    )


def records() -> Iterator[tuple[tuple[str, str], bytes]]:
    """Give the names and contents of the log's records."""
    index = f"{prefix()}-records"
    admin().indices.refresh(index=index)
    for found in admin().search(index=index, body={"size": 1_000})["hits"]["hits"]:
        yield (found["_id"], found["_routing"]), base64.b64decode(found["_source"]["data"])


def delete_record(name: tuple[str, str]) -> None:
    """Remove a record behind the store's back."""
    id, routing = name
    asked = {"routing": routing, "refresh": "true"}
    admin().delete(index=f"{prefix()}-records", id=id, params=asked)


def forget(url: str) -> None:
    """Remove all that this process put on a server."""
    with connect(url) as client:
        # By their names: some servers refuse to delete by a pattern.
        found = client.indices.get(index=f"{prefix()}-*", params={"expand_wildcards": "all"})
        for name in found:
            client.indices.delete(index=name)


class OpenSearchCluster:
    """Three nodes, each a process of its own."""

    def __init__(self) -> None:
        peers = {f"node-{n}": free_port() for n in (1, 2, 3)}
        self.nodes = [OpenSearchNode(name, peers) for name in peers]

    def start(self) -> None:
        for node in self.nodes:
            node.begin()
        for node in self.nodes:
            node.wait()
        self.wait_for(3)

    def wait_for(self, count: int) -> None:
        """Wait until so many nodes are one cluster, and every shard is where it should be."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            for node in self.nodes:
                if node.is_running and node.has(count):
                    return
            time.sleep(0.2)
        raise RuntimeError(f"{count} nodes do not become one cluster")

    def url(self) -> str:
        return "opensearch://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def remove(self) -> None:
        for node in self.nodes:
            node.remove()

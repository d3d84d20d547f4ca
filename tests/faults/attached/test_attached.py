"""Rule 14: an index that fails loses no write, and says what the store says when it is back."""

from __future__ import annotations

import http.server
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers.opensearch import OpenSearchNode, connect
from servers.proxy import Proxy

from sapwood.errors import ReadOnlyError, StoreBusyError, StoreError, StoreUnavailableError
from sapwood.model import Read, Search
from sapwood.testing import COUNTS
from sapwood.testing.makers import cover

from .support import ADA, found, open_async_store, open_store, say, tell

FEEDER = Path(__file__).with_name("feeder.py")


def ids_in(store: object, session: str) -> list[str]:
    return [it.id for it in store.read(ADA, session, Read()).messages_only]  # type: ignore[attr-defined]


def start_feeder(folder: Path, url: str, prefix: str, *does: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(FEEDER), str(folder), url, prefix, *does]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as told:
        assert told.readline() == b"ready\n"
    return process


@pytest.mark.fault
def test_rule_14_writes_go_on_while_the_index_is_gone_and_are_found_when_it_is_back(
    node: OpenSearchNode, tmp_path: Path, prefix: str
) -> None:
    with open_store(tmp_path, node.url(), prefix) as store:
        tell(store, "s", "m1", "m2")
        assert found(store) == ["s/m1", "s/m2"]
        node.kill()
        try:
            tell(store, "s", "m3")
            store.add_overlay(ADA, "s", cover("m1", "m2", id="o", summary="lighthouses"))
            store.delete_messages(ADA, "s", ["m1"])
            with pytest.raises(StoreUnavailableError) as raised:
                found(store)
            assert raised.value.retryable
            with pytest.raises(StoreUnavailableError):
                store.finish_deletions()
            with open_store(tmp_path, node.url(), prefix, fallback=True) as other:
                assert found(other) == ["s/m2", "s/m3"]
        finally:
            node.start()
        assert found(store) == ["s/m2", "s/m3"]
        assert found(store, "lighthouses") == ["s/o"]
        assert store.admin.check() == []
    COUNTS["attached index: its server killed and started again"] += 1


@pytest.mark.fault
def test_an_index_that_is_killed_while_it_is_fed_misses_nothing(
    node: OpenSearchNode, tmp_path: Path, prefix: str
) -> None:
    feeder = start_feeder(tmp_path, node.url(), prefix, "s", "write")
    try:
        time.sleep(random.uniform(1, 3))
        node.kill()
        COUNTS["attached index: its server killed while it is fed"] += 1
        node.start()
        time.sleep(2)
        assert feeder.poll() is None
    finally:
        feeder.kill()
        feeder.wait()
    with open_store(tmp_path, node.url(), prefix) as store:
        assert found(store) == sorted(f"s/{id}" for id in ids_in(store, "s"))
        assert store.admin.check() == []


@pytest.mark.fault
def test_feeders_that_are_killed_at_any_moment_leave_nothing_wrong(
    node: OpenSearchNode, tmp_path: Path, prefix: str
) -> None:
    with open_store(tmp_path, node.url(), prefix) as store:
        for n in range(5):
            tell(store, "s", *(f"m{n}-{k}" for k in range(300)))
            feeder = start_feeder(tmp_path, node.url(), prefix, "w")
            time.sleep(random.uniform(0.0, 0.6))
            feeder.kill()
            feeder.wait()
            COUNTS["attached index: a feeder killed"] += 1
        store.delete_messages(ADA, "s", [f"m0-{k}" for k in range(0, 300, 2)])
        assert store.admin.check() == [] or store.finish_deletions() is None
        expected = sorted(f"s/{id}" for id in ids_in(store, "s"))
        hits = store.search(ADA, Search(text="lighthouse", session="s", limit=1_000))
        assert (len(hits.hits), hits.cursor is None) == (1_000, False)
        assert {f"s/{hit.entry.id}" for hit in hits.hits} <= set(expected)
        assert store.admin.check() == []


@pytest.mark.fault
def test_several_that_write_and_feed_at_once_leave_nothing_wrong(
    node: OpenSearchNode, tmp_path: Path, prefix: str
) -> None:
    with open_store(tmp_path, node.url(), prefix) as store:
        tell(store, "first", "m1")
        feeders = [start_feeder(tmp_path, node.url(), prefix, f"w{n}", "write") for n in range(3)]
        time.sleep(6)
        assert all(feeder.poll() is None for feeder in feeders)
        for feeder in feeders:
            feeder.kill()
            feeder.wait()
            COUNTS["attached index: a feeder that writes, killed beside others"] += 1
        expected = [f"w{n}/{id}" for n in range(3) for id in ids_in(store, f"w{n}")]
        assert found(store) == sorted(["first/m1", *expected])
        left = store.admin.check()
        # One that was killed between what it put and looking at it again may leave what is gone.
        assert all("gone and still indexed" in problem.what for problem in left)
        assert store.admin.repair() == []


def test_a_cut_connection_is_replaced_within_the_search(
    proxy: Proxy, tmp_path: Path, prefix: str
) -> None:
    with open_store(tmp_path, f"opensearch://127.0.0.1:{proxy.port}", prefix) as store:
        for n in range(5):
            tell(store, "s", f"m{n}")
            proxy.cut()
            assert found(store) == [f"s/m{k}" for k in range(n + 1)]
            COUNTS["attached index: connection cut"] += 1
        assert store.admin.check() == []


def test_a_lost_answer_is_asked_for_again_and_nothing_is_found_twice(
    proxy: Proxy, tmp_path: Path, prefix: str
) -> None:
    with open_store(tmp_path, f"opensearch://127.0.0.1:{proxy.port}", prefix) as store:
        tell(store, "s", "m0")
        assert found(store) == ["s/m0"]
        for n in range(1, 9):
            tell(store, "s", f"m{n}")
            timer = threading.Timer(random.uniform(0, 0.03), proxy.swallow_next_answer)
            timer.start()
            assert found(store) == [f"s/m{k}" for k in range(n + 1)]
            timer.join()
        COUNTS["attached index: answers lost"] += proxy.swallowed
        assert found(store) == [f"s/m{k}" for k in range(9)]
        assert store.admin.check() == []


async def test_the_async_twin_goes_on_after_a_restart(
    node: OpenSearchNode, tmp_path: Path, prefix: str
) -> None:
    async with open_async_store(tmp_path, node.url(), prefix) as store:
        with open_store(tmp_path, node.url(), prefix) as other:
            tell(other, "s", "m1")
        search = Search(text="lighthouse")
        assert len((await store.search(ADA, search)).hits) == 1
        node.kill()
        try:
            await store.append(ADA, "s", [say("m2", "lighthouse")])
            with pytest.raises(StoreUnavailableError):
                await store.search(ADA, search)
        finally:
            node.start()
        assert len((await store.search(ADA, search)).hits) == 2
    COUNTS["attached index: its server killed and started again"] += 1


def test_an_index_without_room_is_told_and_writes_go_on(
    node: OpenSearchNode, tmp_path: Path, prefix: str
) -> None:
    with open_store(tmp_path, node.url(), prefix) as store, connect(node.url()) as client:
        tell(store, "s", "m1")
        assert found(store) == ["s/m1"]
        block = {"index.blocks.read_only_allow_delete": True}
        client.indices.put_settings(index=f"{prefix}-search", body=block)
        tell(store, "s", "m2")
        with pytest.raises((ReadOnlyError, StoreBusyError)):
            found(store)
        client.indices.put_settings(
            index=f"{prefix}-search", body={"index.blocks.read_only_allow_delete": None}
        )
        assert found(store) == ["s/m1", "s/m2"]


class Refusing(http.server.BaseHTTPRequestHandler):
    """Answers every request with the same status, as a server with security or load does."""

    status = 500

    def do_GET(self) -> None:
        body = b'{"error": {"type": "refused", "reason": "no"}, "status": 500}'
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def refusing() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, StoreError),
        (403, ReadOnlyError),
        (413, StoreError),
        (429, StoreBusyError),
        (503, StoreUnavailableError),
    ],
)
def test_a_refusal_is_told_in_our_words_without_the_password(
    status: int, kind: type[StoreError], refusing: int, tmp_path: Path
) -> None:
    Refusing.status = status
    url = f"opensearch://ada:s3cret@127.0.0.1:{refusing}"
    with open_store(tmp_path, url, "p") as store:
        tell(store, "s", "m1")
        with pytest.raises(kind) as raised:
            found(store)
        assert type(raised.value) is kind
        shown = "".join(map(str, (raised.value, raised.value.__cause__, repr(raised.value))))
        assert "s3cret" not in shown
        assert ids_in(store, "s") == ["m1"]

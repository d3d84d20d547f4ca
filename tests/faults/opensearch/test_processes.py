"""Clients that are processes of their own: killed, and several that begin at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from servers.opensearch import OpenSearchNode, connect

from sapwood.model import Search
from sapwood.testing import COUNTS

from ..tried import tried
from .support import ADA, ids_in, open_store, say

WRITER = Path(__file__).with_name("writer.py")
STARTING = 4
EACH = 3


def command(node: OpenSearchNode, prefix: str, count: int, how: str) -> list[str]:
    return [sys.executable, str(WRITER), node.url(), prefix, "s", str(count), how]


@pytest.mark.fault
def test_a_client_killed_between_commit_and_apply_leaves_nothing_undone(
    node: OpenSearchNode, prefix: str
) -> None:
    died = subprocess.run(
        command(node, prefix, 200, "die"), capture_output=True, text=True, timeout=120, check=False
    )
    assert died.returncode == -9, died.stderr
    tried("OpenSearch", "client killed between commit and apply")
    told = died.stdout.split()
    assert told
    with open_store(node.url(), prefix) as store:
        found = ids_in(store)
        assert found[: len(told)] == told
        for id in (told[0], told[-1]):
            # A retry by the same id finds what the dead one wrote, look-ups or not.
            assert store.append(ADA, "s", [say(id, id.removeprefix("die-"))]).written == 0
        assert len(store.search(ADA, Search(text=found[-1].removeprefix("die-"))).hits) == 1
        store.append(ADA, "s", [say("after")])
        store.finish_deletions()
        assert ids_in(store) == [*found, "after"]
        assert store.admin.check() == []


@pytest.mark.fault
def test_several_processes_that_start_at_once_set_up_one_store(
    node: OpenSearchNode, prefix: str
) -> None:
    begun = [
        subprocess.Popen(
            command(node, prefix, EACH, f"p{n}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(STARTING)
    ]
    for process in begun:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
    COUNTS["OpenSearch: processes that start at once"] += STARTING
    with open_store(node.url(), prefix) as store, connect(node.url()) as client:
        assert sorted(ids_in(store)) == [f"p{n}-{k}" for n in range(STARTING) for k in range(EACH)]
        assert store.admin.check() == []
        assert len(client.indices.get(index=f"{prefix}-*")) == 4

"""Moving slots of a cluster from node to node, a key at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from redis import Redis
from redis.crc import key_slot
from servers.redis_cluster import ClusterOfServers


class Movers:
    """Clients of each node, which move slots as `redis-cli --cluster reshard` does, but slowly."""

    def __init__(self, cluster: ClusterOfServers) -> None:
        self._nodes: list[Any] = [Redis(port=server.port) for server in cluster.servers]
        self._ports = [server.port for server in cluster.servers]
        self._ids = [node.execute_command("CLUSTER", "MYID").decode() for node in self._nodes]

    def close(self) -> None:
        for node in self._nodes:
            node.close()

    def slots_of(self, prefix: str) -> list[int]:
        """Give the slots in which keys with a prefix lie."""
        found = {
            key_slot(key)
            for node in self._nodes
            for key in node.scan_iter(match=f"{prefix}:*", count=1_000)
        }
        return sorted(found)

    def move(self, slot: int, pause_s: float = 0.0) -> None:
        """Move a slot to the next node."""
        self.begin(slot)
        while self.move_some(slot, 1):
            time.sleep(pause_s)
        self.end(slot)

    def begin(self, slot: int) -> None:
        """Say that a slot goes to the next node."""
        source, target = self._ends(slot)
        for node, state, other in ((target, "IMPORTING", source), (source, "MIGRATING", target)):
            command = ("CLUSTER", "SETSLOT", slot, state, self._ids[other])
            self._nodes[node].execute_command(*command)

    def move_some(self, slot: int, count: int) -> int:
        """Move some keys of a slot; give how many that were."""
        source, target = self._ends(slot)
        giver = self._nodes[source]
        keys: list[bytes] = giver.execute_command("CLUSTER", "GETKEYSINSLOT", slot, count)
        if keys:
            to = ("127.0.0.1", self._ports[target], "", 0, 5_000)
            giver.execute_command("MIGRATE", *to, "KEYS", *keys)
        return len(keys)

    def end(self, slot: int) -> None:
        """Say that a slot has gone to the next node."""
        source, target = self._ends(slot)
        for node in (target, source, *range(len(self._nodes))):
            command = ("CLUSTER", "SETSLOT", slot, "NODE", self._ids[target])
            self._nodes[node].execute_command(*command)

    def _ends(self, slot: int) -> tuple[int, int]:
        source = self._holder(slot)
        return source, (source + 1) % len(self._nodes)

    def _holder(self, slot: int) -> int:
        for first, last, (_, port, *_rest), *_replicas in self._slots():
            if first <= slot <= last:
                return self._ports.index(port)
        raise LookupError(slot)

    def _slots(self) -> Sequence[Any]:
        with Redis(port=self._ports[0]) as fresh:
            # The driver would give them in another shape.
            connection = fresh.connection_pool.get_connection()
            try:
                connection.send_command("CLUSTER", "SLOTS")
                slots: Sequence[Any] = connection.read_response()
            finally:
                fresh.connection_pool.release(connection)
        return slots

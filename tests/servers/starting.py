"""Starts one server of each kind that runs on until it is stopped: what `make servers` does."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import mariadb, mongodb, opensearch, pgbouncer, postgres, redis, redis_cluster, running
from .process import Kept, kept_in
from .running import Server

# The name of a Unix socket in it has a limit.
LONGEST_PATH = 70
# They outlive whoever asked for them; a process that is forgotten while it runs gives a warning.
_started: list[subprocess.Popen[bytes]] = []


class Kind(NamedTuple):
    start: Callable[[dict[str, Server]], Any]
    """Given those that run already."""
    version_of: Callable[[str], str]


def _opensearch(others: dict[str, Server]) -> opensearch.OpenSearchNode:
    node = opensearch.OpenSearchNode()
    node.start()
    opensearch.hurry(node.url())
    return node


def _pgbouncer(others: dict[str, Server]) -> pgbouncer.PgBouncer:
    if "postgres" not in others:
        raise FileNotFoundError("there is no PostgreSQL for PgBouncer to stand before")
    return pgbouncer.PgBouncer(others["postgres"].port)


KINDS = {
    "postgres": Kind(lambda _: postgres.PostgresServer(*postgres.FAST), postgres.version_of),
    "pgbouncer": Kind(_pgbouncer, lambda _: pgbouncer.version()),
    "redis": Kind(lambda _: redis.RedisServer(*redis.FAST), redis.version_of),
    "redis_cluster": Kind(
        lambda _: redis_cluster.ClusterOfServers(*redis.FAST), redis_cluster.version_of
    ),
    "mariadb": Kind(lambda _: mariadb.MariaDbServer(*mariadb.FAST), mariadb.version_of),
    "mongodb": Kind(lambda _: mongodb.FerretServer(), mongodb.version_of),
    "opensearch": Kind(_opensearch, opensearch.version_of),
}


def start(name: str, others: dict[str, Server], folder: Path = running.FOLDER) -> Server:
    """Start a server in a folder of its own; when that fails, nothing of it is left."""
    place = _place_for(name, folder)
    with kept_in(place) as kept:
        try:
            server = KINDS[name].start(others)
            url = server.url()
            _started.extend(kept.processes)
            return Server(KINDS[name].version_of(url), url, str(place), _identified(kept))
        except BaseException:
            for process in kept.processes:
                process.kill()
                process.wait()
            shutil.rmtree(place, ignore_errors=True)
            raise


def _identified(kept: Kept) -> dict[str, str]:
    return {str(it.pid): running.what_is(it.pid) or "" for it in kept.processes}


def _place_for(name: str, folder: Path) -> Path:
    """Make the folder of a server: another user runs it where we are root, and must get there."""
    place = folder.resolve() / "running" / name
    reached = os.geteuid() != 0 or all(it.stat().st_mode & 1 for it in folder.resolve().parents)
    if not reached or len(str(place)) > LONGEST_PATH:
        return _open_to_all(Path(tempfile.mkdtemp(prefix=f"sw-{name}-")))
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return _open_to_all(place)


def _open_to_all(place: Path) -> Path:
    place.chmod(0o755)
    return place

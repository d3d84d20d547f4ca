"""The parts of the full tier: each is one run of pytest, or of the first tier on another Python."""

from __future__ import annotations

from typing import NamedTuple

SERVERS = "postgres,redis,redis_cluster,mongodb,mariadb,opensearch"
PYTHONS = ("3.12", "3.13")
"""Those that pyproject.toml claims besides the oldest, which all other parts run on."""


class Part(NamedTuple):
    name: str
    paths: tuple[str, ...] = ()
    python: str = ""


def tests(name: str, *paths: str) -> Part:
    return Part(name, tuple(f"tests/{it}" for it in paths))


PARTS = (
    tests("rules", "rules", "model", "formats", "compaction", "context", "summarizers"),
    tests("surface", "api", "cli", "docs", "tools", "servers", "transfer"),
    tests("session", "session"),
    tests("stores", "stores"),
    tests("record-log", "recordlog"),
    tests("embedded", *(f"contract/test_{it}.py" for it in ("memory", "sqlite", "suite"))),
    tests("postgres", "contract/test_postgres.py"),
    tests("sqlalchemy", "contract/test_sqlalchemy.py"),
    tests("redis", "contract/test_redis.py", "contract/test_redis_cluster.py"),
    tests("mongodb", "contract/test_mongodb.py"),
    tests("opensearch", "contract/test_opensearch.py", "contract/test_attached.py"),
    tests("faults", "faults"),
    *(Part(f"python-{it}", python=it) for it in PYTHONS),
)

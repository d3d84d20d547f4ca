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
    reads: tuple[str, ...] = ()
    """What it looks at besides the package and what all tests share."""


def in_tests(name: str, *paths: str, reads: tuple[str, ...] = ()) -> Part:
    return Part(name, tuple(f"tests/{it}" for it in paths), reads=reads)


PARTS = (
    in_tests("rules", "rules", "model", "formats", "compaction", "context", "summarizers"),
    in_tests("surface", "api", "cli", "docs", "tools", "servers", "transfer", reads=(".",)),
    in_tests("session", "session"),
    in_tests("stores", "stores", reads=("docs",)),
    in_tests("record-log", "recordlog"),
    in_tests("embedded", *(f"contract/test_{it}.py" for it in ("memory", "sqlite", "suite"))),
    in_tests("postgres", "contract/test_postgres.py"),
    in_tests("sqlalchemy", "contract/test_sqlalchemy.py"),
    in_tests("redis", "contract/test_redis.py", "contract/test_redis_cluster.py"),
    in_tests("mongodb", "contract/test_mongodb.py"),
    in_tests("opensearch", "contract/test_opensearch.py", "contract/test_attached.py"),
    in_tests("faults", "faults"),
    *(Part(f"python-{it}", python=it) for it in PYTHONS),
)

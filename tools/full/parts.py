"""The parts of the full tier: each is one run of pytest, or of the first tier on another Python."""

from __future__ import annotations

from typing import NamedTuple

SERVERS = "postgres,redis,redis_cluster,mongodb,mariadb,opensearch"
PYTHONS = ("3.12", "3.13")
"""Those that pyproject.toml claims besides the oldest, which all other parts run on."""


OPTIONAL = (
    *("cli", "transfer", "stores/postgres", "stores/redis", "stores/recordlog", "stores/mongodb"),
    *("stores/opensearch", "stores/searched", "stores/sqlalchemy"),
)
"""What of the package only the parts rest on that say so."""
APART = ("docs", "bench", "examples", "tools", ".ci")
"""Folders that only the parts read that say so."""


class Part(NamedTuple):
    name: str
    paths: tuple[str, ...] = ()
    python: str = ""
    uses: tuple[str, ...] = OPTIONAL
    """What it uses of the optional pieces of the package."""
    reads: tuple[str, ...] = ()
    """What it looks at besides the package and what all tests share."""


def in_tests(
    name: str, *paths: str, uses: tuple[str, ...] = OPTIONAL, reads: tuple[str, ...] = ()
) -> Part:
    return Part(name, tuple(f"tests/{it}" for it in paths), uses=uses, reads=reads)


RULES = ("rules", "model", "formats", "compaction", "context", "streaming", "summarizers")
EMBEDDED = (f"contract/test_{it}.py" for it in ("memory", "sqlite", "suite"))
LOG = "stores/recordlog"
"""The memory store is on it, too."""
PARTS = (
    in_tests("rules", *RULES, uses=(LOG,), reads=("docs",)),
    in_tests("session", "session", uses=(LOG,)),
    in_tests("agent", "agent", uses=(LOG, "cli"), reads=("examples",)),
    in_tests("embedded", *EMBEDDED, uses=(LOG,)),
    in_tests("postgres", "contract/test_postgres.py", uses=("stores/postgres",)),
    in_tests("sqlalchemy", "contract/test_sqlalchemy.py", uses=("stores/sqlalchemy",)),
    in_tests(
        "redis",
        "contract/test_redis.py",
        "contract/test_redis_cluster.py",
        uses=("stores/redis",),
    ),
    in_tests("record-log", "recordlog", uses=(LOG,)),
    in_tests("mongodb", "contract/test_mongodb.py", uses=(LOG, "stores/mongodb")),
    in_tests(
        "opensearch",
        "contract/test_opensearch.py",
        "contract/test_attached.py",
        uses=(LOG, "stores/opensearch", "stores/searched"),
    ),
    in_tests("stores", "stores", reads=("docs",)),
    in_tests("surface", "api", "cli", "docs", "tools", "servers", "transfer", reads=(".",)),
    in_tests("faults", "faults"),
    *(Part(f"python-{it}", python=it) for it in PYTHONS),
)

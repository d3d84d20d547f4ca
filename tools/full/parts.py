"""The parts of the full tier: each is one run of pytest, or of the first tier on another Python."""

from __future__ import annotations

from typing import NamedTuple

SERVERS = "postgres,redis,redis_cluster,mongodb,mariadb,opensearch"
PYTHONS = ("3.12", "3.13")
"""Those that pyproject.toml claims besides the oldest, which all other parts run on."""


ABOVE_STORES = (
    *("context", "formats", "streaming", "summarizers", "session", "lifecycle", "gateway"),
    *("memory", "flows", "vendors", "tools", "agent", "transfer", "cli", "_open.py"),
)
"""What no store, and no part of the contract suite, imports."""
OPTIONAL = (
    *ABOVE_STORES,
    *("stores/postgres", "stores/redis", "stores/recordlog", "stores/mongodb"),
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
    helpers: tuple[str, ...] = ("tests",)
    """The folders of tests whose helpers it may use."""


def in_tests(
    name: str, *paths: str, uses: tuple[str, ...] = OPTIONAL, reads: tuple[str, ...] = ()
) -> Part:
    return Part(name, tuple(f"tests/{it}" for it in paths), uses=uses, reads=reads)


def contract(name: str, *paths: str, uses: tuple[str, ...]) -> Part:
    """Make a part that knows of stores and servers, and of nothing above them."""
    part = in_tests(name, *paths, uses=uses)
    folders = ("contract", "recordlog", "servers", "stores")
    return part._replace(helpers=tuple(f"tests/{it}" for it in folders))


RULES = ("rules", "model", "formats", "compaction", "context", "streaming", "summarizers")
EMBEDDED = (f"contract/test_{it}.py" for it in ("memory", "sqlite", "suite"))
LOG = "stores/recordlog"
"""The memory store is on it, too."""
REDIS = ("contract/test_redis.py", "contract/test_redis_cluster.py")
OPENSEARCH = ("contract/test_opensearch.py", "contract/test_attached.py")
PARTS = (
    contract("redis", *REDIS, uses=("stores/redis",)),
    contract("record-log", "recordlog", uses=(LOG,)),
    contract("postgres", "contract/test_postgres.py", uses=("stores/postgres",)),
    contract("embedded", *EMBEDDED, uses=(LOG,)),
    contract("sqlalchemy", "contract/test_sqlalchemy.py", uses=("stores/sqlalchemy",)),
    contract("mongodb", "contract/test_mongodb.py", uses=(LOG, "stores/mongodb")),
    contract("opensearch", *OPENSEARCH, uses=(LOG, "stores/opensearch", "stores/searched")),
    in_tests("stores", "stores", reads=("docs",)),
    in_tests("rules", *RULES, uses=(LOG, *ABOVE_STORES), reads=("docs",)),
    in_tests("session", "session", uses=(LOG, *ABOVE_STORES)),
    in_tests("lifecycle", "lifecycle", uses=(LOG, *ABOVE_STORES)),
    in_tests("agent", "agent", uses=(LOG, *ABOVE_STORES), reads=("examples",)),
    in_tests("faults", "faults"),
    in_tests("surface", "api", "cli", "docs", "tools", "servers", "transfer", reads=(".",)),
    *(Part(f"python-{it}", python=it) for it in PYTHONS),
)

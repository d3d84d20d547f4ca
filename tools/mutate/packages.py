"""What is mutated, and the tests that are to notice."""

from __future__ import annotations

from typing import NamedTuple


class Package(NamedTuple):
    """A part of the source with its tests: the cheap ones, and those that tell most, first."""

    name: str
    folders: tuple[str, ...]
    tests: tuple[str, ...]
    servers: tuple[str, ...] = ()


PACKAGES = (
    Package("rules", ("rules",), ("tests/rules", "tests/compaction")),
    Package(
        "compaction",
        ("compaction",),
        ("tests/compaction", "tests/session/*/test_*compact*.py"),
    ),
    Package(
        "context",
        ("context",),
        ("tests/context", "tests/session/*/test_context.py", "tests/session/*/test_prepare.py"),
    ),
    Package("session", ("session",), ("tests/session", "tests/context", "tests/compaction")),
    Package(
        "sqlite",
        ("stores/sqlite", "stores/base"),
        ("tests/contract/test_sqlite.py", "tests/stores/test_sqlite*.py", "tests/faults/test_*.py"),
    ),
    Package(
        "recordlog",
        ("stores/recordlog", "stores/memory"),
        (
            "tests/recordlog",
            "tests/contract/test_memory.py",
            "tests/stores/memory",
            "tests/contract/test_mongodb.py",
            "tests/stores/test_mongodb*.py",
            "tests/faults/mongodb",
        ),
        ("mongodb",),
    ),
    Package(
        "postgres",
        ("stores/postgres",),
        (
            "tests/contract/test_postgres.py",
            "tests/stores/test_postgres*.py",
            "tests/stores/test_fast_fork.py",
            "tests/faults/postgres",
        ),
        ("postgres",),
    ),
    Package(
        "redis",
        ("stores/redis",),
        ("tests/stores/redis", "tests/contract/test_redis*.py", "tests/faults/redis"),
        ("redis", "redis_cluster"),
    ),
)

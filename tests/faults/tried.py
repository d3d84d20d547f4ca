"""The faults that every store has to stand, each by one name, and how often each was tried."""

from __future__ import annotations

from typing import Literal, get_args

from sapwood.testing import COUNTS

Store = Literal[
    "MariaDB",
    "MongoDB",
    "OpenSearch",
    "PostgreSQL",
    "PostgreSQL through SQLAlchemy",
    "Redis",
    "SQLite through SQLAlchemy",
]
Fault = Literal[
    "answer delayed",
    "answer truncated",
    "client killed between commit and apply",
    "client killed in the middle of writes",
    "clock that goes backwards",
    "connection cut",
    "duplicate delivery after a lost answer",
    "node of the cluster gone",
    "payload over the limit",
    "pool run dry",
    "schema from a newer version",
    "server killed in the middle of writes",
    "time-out",
    "two clients with one session",
    "wrong credentials",
]


def tried(store: Store, fault: Fault, count: int = 1) -> None:
    """Count a fault that a store was put through: a line of the table at the end of a run."""
    assert store in get_args(Store), store
    assert fault in get_args(Fault), fault
    COUNTS[f"fault on {store}: {fault}"] += count

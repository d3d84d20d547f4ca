"""What a call costs, counted in steps of SQLite's virtual machine, so that no clock is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from sapwood.model import EntryRef, NewMessage, NewOverlay, NewSession, TextPart
from sapwood.stores.sqlite import SqliteStore
from sapwood.stores.sqlite.database import Database

ADA = "ada"


def say(id: str | None = None, text: str = "hello") -> NewMessage:
    """Make a message."""
    return NewMessage(role="user", parts=[TextPart(text=text)], id=id)


def grow(store: SqliteStore, session: str, count: int, text: str = "hello") -> None:
    """Make a session of so many messages."""
    store.create_session(ADA, NewSession(id=session))
    for start in range(0, count, 1_000):
        batch = [say(f"{session}-{n}", text) for n in range(start, min(start + 1_000, count))]
        store.append(ADA, session, batch)


def steps(store: SqliteStore, call: Callable[[], object]) -> int:
    """Count the steps that a call takes on any connection of the store."""
    call()
    database = store._runner
    assert isinstance(database, Database)
    units = [database._writer.unit, *database._readers._free]
    counted = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal counted
        counted += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    for unit in units:
        unit.tx.raw.trace_v2(apsw.SQLITE_TRACE_PROFILE, count)
    call()
    for unit in units:
        unit.tx.raw.trace_v2(0, None)
    return counted


def cover(store: SqliteStore, session: str, first: str, last: str) -> None:
    """Cover a range of messages."""
    ends = [EntryRef(kind="message", id=id) for id in (first, last)]
    new = NewOverlay(first=ends[0], last=ends[1], summary="so far")
    store.add_overlay(ADA, session, new)

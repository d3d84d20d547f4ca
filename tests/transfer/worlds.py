"""Stores to move sessions between, and what can be seen of a session in one."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sapwood.model import Message, Read, SessionQuery, Summary
from sapwood.model.session import RECORD_FIELDS
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.stores.sqlite import SqliteStore
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA
from sapwood.transfer import Exported, Imported, export_lines, import_file


def new_ids() -> Any:
    numbers = itertools.count(1)
    return lambda: f"id{next(numbers)}"


def memory() -> MemoryStore:
    return MemoryStore(clock=ManualClock(), new_id=new_ids())


def sqlite(path: Path) -> SqliteStore:
    return SqliteStore(path, clock=ManualClock(), new_id=new_ids(), durability="normal")


def export(store: Store, *sessions: str, owner: str = ADA) -> bytes:
    return b"".join(export_lines(store, owner, sessions or None, Exported()))


def load(store: Store, data: bytes, owner: str = ADA) -> Imported:
    return import_file(store, owner, io.BytesIO(data))


def lines_of(data: bytes, kind: str = "") -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in data.splitlines()]
    return [line for line in lines if not kind or line["kind"] == kind]


def joined(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def names_in(store: Store, owner: str = ADA) -> list[str]:
    page = store.list_sessions(owner, SessionQuery(kind=None, limit=1_000))
    return sorted(record.id for record in page.sessions)


def seen_of(store: Store, session: str, owner: str = ADA) -> dict[str, Any]:
    """Write down all that can be seen of a session, but for what cannot be carried."""
    record = store.find_session(owner, session)
    assert record is not None
    path = store.read(owner, session, Read(overlays=False, limit=1, backwards=True)).messages_only
    return {
        "record": [getattr(record, name) for name in RECORD_FIELDS],
        "created": record.created_us,
        "tip": path[0].id if path else None,
        "messages": dict(_tree(store, session, owner)),
        "shown": [_shown(entry) for entry in store.read(owner, session, Read()).entries],
        "overlays": sorted(
            (it.id, it.summary, it.tokens) for it in store.list_overlays(owner, session)
        ),
        "documents": {
            it.key: (it.value, it.inherit)
            for it in store.list_documents(owner, session=session)
            if it.expires_us is None
        },
    }


def shown_everywhere(store: Store, owner: str = ADA) -> dict[str, dict[str, Any]]:
    """Write down what every session shows at its leaves and at its messages, and its tip."""
    return {name: _shown_in(store, name, owner) for name in names_in(store, owner)}


def _shown_in(store: Store, session: str, owner: str) -> dict[str, Any]:
    ends = [leaf.id for leaf in store.list_leaves(owner, session)]
    found: dict[str, Any] = {"tip": store.read(owner, session, Read()).tip}
    for id in {*ends, *(id for id, _ in _tree(store, session, owner))}:
        entries = store.read(owner, session, Read(leaf=id)).entries
        found[id] = [_shown(entry) for entry in entries]
    return found


def _tree(store: Store, session: str, owner: str) -> Iterator[tuple[str, Any]]:
    for leaf in store.list_leaves(owner, session):
        above = None
        for message in store.read(owner, session, Read(leaf=leaf.id, overlays=False)).messages_only:
            content = (message.role, message.parts, message.metadata, message.tokens)
            yield message.id, (above, *content, message.extra, message.name, message.created_us)
            above = message.id


def _shown(entry: Message | Summary) -> Any:
    if isinstance(entry, Summary):
        return [entry.text, [message.id for message in entry.pinned]]
    return entry.id

"""Stores to copy, and what became of their sessions."""

from __future__ import annotations

import contextlib
from typing import Any

from sapwood.errors import ConflictError, StoreCorruptError, UsageError
from sapwood.model import NewSession, Usage
from sapwood.store import Store
from sapwood.stores.memory import MemoryStore
from sapwood.testing.makers import ADA, cover, fork_of, say
from sapwood.transfer import CopyEvent, CopyFailed, SessionCopied, copy_store

from .worlds import memory, names_in, seen_of


def all_of(store: Store, owner: str = ADA) -> Any:
    """Write down all that can be seen of an owner, on any store."""
    return {
        name: (
            seen_of(store, name, owner),
            store.total_usage(owner, name, by="message"),
            edge_of(store, name, owner),
        )
        for name in names_in(store, owner)
    }, {it.key: it.value for it in store.list_documents(owner) if it.expires_us is None}


def edge_of(store: Store, name: str, owner: str) -> Any:
    record = store.find_session(owner, name)
    assert record is not None
    return record.parent, record.messages


def furnished() -> MemoryStore:
    """Give a session with branches, a fork that undid what it inherited, usage and documents."""
    store = memory()
    store.create_session(ADA, NewSession(id="s", title="A title", created_us=5))
    store.append(ADA, "s", [say(f"m{n}") for n in range(1, 7)])
    store.append(ADA, "s", [say("x4", extra={"turn": {"id": "t"}}, name="Ann")], parent="m3")
    store.add_overlay(ADA, "s", cover("m1", "m2", id="both"))
    store.put_document(ADA, "k", b"s", session="s")
    store.checkout(ADA, "s", "m5")
    for n, model in enumerate(("a", "b", "a", "a")):
        message = None if n == 3 else "m2"
        store.add_usage(ADA, "s", Usage(id=f"u{n}", model=model, message=message, input_tokens=n))
    store.create_session(ADA, fork_of("s", "m3", id="f"))
    store.undo_overlay(ADA, "f", "both")
    store.put_document(ADA, "k", b"f", session="f")
    store.put_document(ADA, "late", b"s", session="s")
    store.put_document(ADA, "own", b"s", session="s", inherit=False)
    store.append(ADA, "f", [say("f4"), say("f5")])
    store.checkout(ADA, "f", "m2")
    store.put_document(ADA, "mine", b"ada's")
    store.put_document(ADA, "lease", b"x", expires_in_s=60)
    store.put_document(ADA, "lease", b"x", session="s", expires_in_s=60)
    return store


def statuses(source: Store, target: Store, **options: Any) -> dict[str | None, str]:
    found: dict[str | None, str] = {}

    def note(event: CopyEvent) -> None:
        if isinstance(event, SessionCopied):
            found[event.session] = event.status
        elif isinstance(event, CopyFailed):
            found[event.session] = event.error

    with contextlib.suppress(ConflictError, UsageError, StoreCorruptError):
        copy_store(source, target, on_event=note, **options)
    return found

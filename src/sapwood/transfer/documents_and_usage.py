"""Writing what belongs to a session besides its messages and overlays: documents, usage."""

from __future__ import annotations

import contextlib

from ..errors import NotFoundError, StaleVersionError
from ..store import Store
from .lines import DocumentLine, UsageLine
from .new_records import new_usage
from .plan import SessionPlan


def undo_others(store: Store, owner: str, session: str, plan: SessionPlan) -> None:
    """Take away what a new fork got from its source and did not have where it comes from."""
    for overlay in store.list_overlays(owner, session):
        if overlay.id not in plan.overlays:
            # Another import may be at the same.
            with contextlib.suppress(NotFoundError):
                store.undo_overlay(owner, session, overlay.id)
    for document in store.list_documents(owner, session=session):
        if document.key not in plan.documents:
            store.delete_document(owner, document.key, session=session)


def put_document(
    store: Store,
    owner: str,
    session: str | None,
    line: DocumentLine,
    plan: SessionPlan,
    notes: list[str],
) -> None:
    """Put a document; one that was there before the import stays as it is."""
    if session is not None and plan.is_ours:
        store.put_document(owner, line.key, line.value, session=session)
        return
    try:
        store.put_document(owner, line.key, line.value, session=session, expected_version=0)
    except StaleVersionError:
        stored = store.find_document(owner, line.key, session=session)
        if stored is None or stored.value != line.value:
            whose = f"session {session!r}" if session else f"owner {owner!r}"
            notes.append(f"{whose}: kept the document {line.key!r} that was there")


def add_usage(store: Store, owner: str, session: str, line: UsageLine) -> None:
    """Add a model's sum, unless the session has usage of that model.

    A sum cannot be told apart from what it sums: none is added to what was there.
    """
    if all(it.model != line.model for it in store.total_usage(owner, session)):
        store.add_usage(owner, session, new_usage(line))

"""Writing what belongs to a session besides its messages: documents, overlays, usage."""

from __future__ import annotations

import contextlib
from typing import Literal

import msgspec

from ..errors import AlreadyExistsError, ConflictError, NotFoundError, StaleVersionError
from ..model import EntryRef, Message, NewOverlay, Overlay, Read, Summary
from ..store import Store
from .lines import DocumentLine, OverlayLine, UsageLine
from .making import new_overlay, new_usage
from .plan import SessionPlan

Side = Literal["first", "last"]


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


def add_overlay(
    store: Store, owner: str, session: str, line: OverlayLine, notes: list[str]
) -> bool:
    """Add an overlay unless the session has it; one that cannot be added is noted.

    Tells whether the session has it now.
    """
    first, last = store.find_messages(owner, session, [line.first, line.last])
    if first is None or last is None:
        notes.append(f"session {session!r}: left out overlay {line.id!r}, an end is not there")
        return False
    if any(_is_same(it, line, first, last) for it in store.list_overlays(owner, session)):
        return True
    new = msgspec.structs.replace(
        new_overlay(line),
        first=_ref(store, owner, session, last, first, "first"),
        last=_ref(store, owner, session, last, last, "last"),
    )
    return _add(store, owner, session, new, notes)


def _is_same(overlay: Overlay, line: OverlayLine, first: Message, last: Message) -> bool:
    if overlay.id == line.id:
        return True
    here = (overlay.first, overlay.last, overlay.summary, overlay.metadata)
    return here == (first.position, last.position, line.summary, line.metadata)


def _ref(
    store: Store, owner: str, session: str, leaf: Message, end: Message, side: Side
) -> EntryRef:
    """Name the entry that shows an end: the message, or an overlay that has that end, too."""
    query = Read(leaf=leaf.id, after=end.depth - 1, before=end.depth + 1, limit=1)
    for entry in store.read(owner, session, query).entries:
        if isinstance(entry, Summary) and getattr(entry.overlay, side) == end.position:
            return EntryRef.of(entry)
    return EntryRef.of(end)


def _add(store: Store, owner: str, session: str, new: NewOverlay, notes: list[str]) -> bool:
    try:
        try:
            store.add_overlay(owner, session, new)
        except AlreadyExistsError:
            if any(it.id == new.id for it in store.list_overlays(owner, session)):
                return True
            # Forks share a tree, and an overlay that their source has undone may be in several.
            store.add_overlay(owner, session, msgspec.structs.replace(new, id=None))
            notes.append(f"session {session!r}: overlay {new.id!r} got another id")
    except ConflictError as error:
        notes.append(f"session {session!r}: left out overlay {new.id!r}: {error}")
        return False
    return True


def add_usage(store: Store, owner: str, session: str, line: UsageLine) -> None:
    """Add a model's sum, unless the session has usage of that model.

    A sum cannot be told apart from what it sums: none is added to what was there.
    """
    if all(it.model != line.model for it in store.total_usage(owner, session)):
        store.add_usage(owner, session, new_usage(line))

"""The blocks that are stored for a session: its own, its owner's, and those of the agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..context import BlockEntry, Scope, StoreBlock
from ..context.block import Held, held_in
from ..context.entry import entry_in
from ..context.place import Named, named_by
from ..errors import NotFoundError, UsageError
from ..model import Document
from ..session import SessionManager


class Spot(NamedTuple):
    """Where something is stored: for the session, for all of the owner's, or for an agent."""

    scope: Scope
    agent: str | None = None

    def __str__(self) -> str:
        return self.scope if self.agent is None else f"agent {self.agent}"


class StoredText(NamedTuple):
    """A block of text, as it is stored."""

    label: str
    spot: Spot
    held: Held


class StoredEntry(NamedTuple):
    """An entry of a block that has entries."""

    label: str
    spot: Spot
    entry: BlockEntry


class StoredBlocks(NamedTuple):
    """All that is stored of blocks, or of one label."""

    texts: list[StoredText]
    entries: list[StoredEntry]

    def spots(self) -> list[Spot]:
        """Tell where any of it is stored."""
        spots = [it.spot for it in self.texts] + [it.spot for it in self.entries]
        return list(dict.fromkeys(spots))

    def labels(self) -> set[str]:
        """Give the labels under which something is stored."""
        return {it.label for it in self.texts} | {it.label for it in self.entries}


def stored_blocks(sessions: SessionManager, session: str) -> StoredBlocks:
    """Read the blocks that a session may show; which of them it does, its program decides."""
    found = StoredBlocks([], [])
    for name, spot, document in _documents(sessions, session):
        if name.entry is None:
            found.texts.append(StoredText(name.label, spot, held_in(document)))
        else:
            entry = entry_in(document, document.key.removesuffix(name.entry))
            found.entries.append(StoredEntry(name.label, spot, entry))
    return found


def _documents(sessions: SessionManager, session: str) -> Iterator[tuple[Named, Spot, Document]]:
    store, owner = sessions.store, sessions.owner
    for place, scope in ((session, Spot("session")), (None, Spot("owner"))):
        for prefix in ("block/", "entries/", "agent/"):
            # Agents belong to the owner: a session has none of its own.
            if place is not None and prefix == "agent/":
                continue
            for document in store.list_documents(owner, prefix, session=place):
                name = named_by(document.key)
                if name is not None:
                    spot = scope if name.agent is None else Spot("agent", name.agent)
                    yield name, spot, document


def of_label(stored: StoredBlocks, label: str, spot: Spot | None) -> StoredBlocks:
    """Pick what is stored under one label; `UsageError` when it is not clear which is meant."""
    found = StoredBlocks(
        [it for it in stored.texts if it.label == label and spot in (None, it.spot)],
        [it for it in stored.entries if it.label == label and spot in (None, it.spot)],
    )
    spots = found.spots()
    if len(spots) > 1:
        names = " and for the ".join(str(it) for it in spots)
        raise UsageError(
            f"a block {label!r} is stored for the {names}: choose by --scope or --agent",
            path="scope",
        )
    return found


def missing(session: str, label: str) -> NotFoundError:
    """Say that nothing is stored under a label."""
    return NotFoundError(
        f"nothing is stored of a block {label!r} for session {session!r}: a block that was never "
        "written holds what its program gives it",
        kind="block",
        id=label,
    )


def read_text(sessions: SessionManager, session: str, label: str, spot: Spot) -> StoredText:
    """Read one block of text."""
    block = StoreBlock(
        sessions.store,
        sessions.owner,
        label,
        session=session,
        scope=spot.scope,
        agent=spot.agent,
    )
    return StoredText(label, spot, block.read())

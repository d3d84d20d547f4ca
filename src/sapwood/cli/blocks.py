"""The blocks that are stored for a session: its own, its owner's, and those of the agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..context import BlockEntry, BlockScope, StoreBlock
from ..context.block import HeldBlock, held_block_in
from ..context.document_keys import NamedDocument, document_named_by
from ..context.entry import entry_in
from ..errors import NotFoundError, UsageError
from ..model import Document
from ..session import SessionManager


class BlockPlace(NamedTuple):
    """Where something is stored: for the session, for all of the owner's, or for an agent."""

    scope: BlockScope
    agent: str | None = None

    def __str__(self) -> str:
        return self.scope if self.agent is None else f"agent {self.agent}"


class StoredTextBlock(NamedTuple):
    """A block of text, as it is stored."""

    label: str
    place: BlockPlace
    held: HeldBlock


class StoredBlockEntry(NamedTuple):
    """An entry of a block that has entries."""

    label: str
    place: BlockPlace
    entry: BlockEntry


class StoredBlocks(NamedTuple):
    """All that is stored of blocks, or of one label."""

    texts: list[StoredTextBlock]
    entries: list[StoredBlockEntry]

    def places(self) -> list[BlockPlace]:
        """Return where any of it is stored."""
        places = [it.place for it in self.texts] + [it.place for it in self.entries]
        return list(dict.fromkeys(places))

    def labels(self) -> set[str]:
        """Return the labels under which something is stored."""
        return {it.label for it in self.texts} | {it.label for it in self.entries}


def stored_blocks(sessions: SessionManager, session: str) -> StoredBlocks:
    """Read the blocks that a session may show; which of them it does, its program decides."""
    found = StoredBlocks([], [])
    for name, place, document in _documents(sessions, session):
        if name.entry is None:
            found.texts.append(StoredTextBlock(name.label, place, held_block_in(document)))
        else:
            entry = entry_in(document, document.key.removesuffix(name.entry))
            found.entries.append(StoredBlockEntry(name.label, place, entry))
    return found


def _documents(
    sessions: SessionManager, session: str
) -> Iterator[tuple[NamedDocument, BlockPlace, Document]]:
    store, owner = sessions.store, sessions.owner
    for holder, scope in ((session, BlockPlace("session")), (None, BlockPlace("owner"))):
        for prefix in ("block/", "entries/", "agent/"):
            # Agents belong to the owner: a session has none of its own.
            if holder is not None and prefix == "agent/":
                continue
            for document in store.list_documents(owner, prefix, session=holder):
                name = document_named_by(document.key)
                if name is not None:
                    place = scope if name.agent is None else BlockPlace("agent", name.agent)
                    yield name, place, document


def of_label(stored: StoredBlocks, label: str, place: BlockPlace | None) -> StoredBlocks:
    """Pick what is stored under one label; `UsageError` when it is not clear which is meant."""
    found = StoredBlocks(
        [it for it in stored.texts if it.label == label and place in (None, it.place)],
        [it for it in stored.entries if it.label == label and place in (None, it.place)],
    )
    places = found.places()
    if len(places) > 1:
        names = " and for the ".join(str(it) for it in places)
        raise UsageError(
            f"a block {label!r} is stored for the {names}: choose by --scope or --agent",
            path="scope",
        )
    return found


def no_block(session: str, label: str) -> NotFoundError:
    """Return the error for a label under which nothing is stored."""
    return NotFoundError(
        f"nothing is stored of a block {label!r} for session {session!r}: a block that was never "
        "written holds what its program gives it",
        kind="block",
        id=label,
    )


def read_text(
    sessions: SessionManager, session: str, label: str, place: BlockPlace
) -> StoredTextBlock:
    """Read one block of text."""
    block = StoreBlock(
        sessions.store,
        sessions.owner,
        label,
        session=session,
        scope=place.scope,
        agent=place.agent,
    )
    return StoredTextBlock(label, place, block.read())

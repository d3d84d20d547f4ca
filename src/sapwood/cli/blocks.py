"""The blocks that are stored for a session: its own, its owner's, and those of the agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..context import BlockConfig, BlockEntry, BlockScope, Context, StoreBlock
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

    def everything(self) -> list[StoredTextBlock | StoredBlockEntry]:
        """Return both in one list."""
        return [*self.texts, *self.entries]


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
    # Agents belong to the owner: a session has none of its own.
    for holder, place, prefixes in (
        (session, BlockPlace("session"), ("block/", "entries/")),
        (None, BlockPlace("owner"), ("block/", "entries/", "agent/")),
    ):
        for prefix in prefixes:
            for document in sessions.store.list_documents(sessions.owner, prefix, session=holder):
                name = document_named_by(document.key)
                if name is not None:
                    is_agents = name.agent is not None
                    yield name, BlockPlace("agent", name.agent) if is_agents else place, document


def find_blocks(
    sessions: SessionManager, session: str, label: str, place: BlockPlace | None
) -> StoredBlocks:
    """Read what is stored under one label; `UsageError` when it is not clear which is meant."""
    stored = stored_blocks(sessions, session)
    found = StoredBlocks(
        [it for it in stored.texts if it.label == label and place in (None, it.place)],
        [it for it in stored.entries if it.label == label and place in (None, it.place)],
    )
    places = dict.fromkeys(str(it.place) for it in found.everything())
    if len(places) > 1:
        names = " and for the ".join(places)
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


def write_block(
    sessions: SessionManager,
    session: str,
    label: str,
    place: BlockPlace | None,
    mode: str,
    text: str,
) -> StoredTextBlock:
    """Replace a block's text, append to it or undo its last change; return what is stored then."""
    stored = find_blocks(sessions, session, label, place)
    _refuse_blind(label, mode, stored)
    if mode == "undo" and not stored.texts:
        raise no_block(session, label)
    place = stored.texts[0].place if stored.texts else place or BlockPlace("session")
    config = BlockConfig(label, scope=place.scope, agent=place.agent)
    blocks = Context(sessions.store, sessions.owner, session, [config])
    if mode == "undo":
        blocks.undo(label)
    elif mode == "append":
        blocks.append(label, text)
    else:
        blocks.replace(label, text)
    block = StoreBlock(
        sessions.store,
        sessions.owner,
        label,
        session=session,
        scope=place.scope,
        agent=place.agent,
    )
    return StoredTextBlock(label, place, block.read())


def _refuse_blind(label: str, mode: str, stored: StoredBlocks) -> None:
    if stored.entries and not stored.texts:
        raise UsageError(f"block {label!r} has entries: its program writes them", path="label")
    has_text = stored.texts and stored.texts[0].held.stored.content is not None
    if mode == "append" and not has_text:
        raise UsageError(
            f"nothing is stored of block {label!r}, and what its program gives it is not known "
            "here: write the whole text with --set",
            path="append",
        )

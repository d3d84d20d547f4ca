"""Rows to records."""

from __future__ import annotations

from typing import Any

from ...errors import StoreCorruptError
from ...model import ROOT, Edge, EdgeKind, Message, Overlay, SessionRecord
from ...rules.codec import decode_body, decode_json, digest
from .connection import Connection
from .position import DEPTH_BITS, MAX_DEPTH, public

MESSAGE_COLUMNS = "m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at, m.body"
OVERLAY_COLUMNS = (
    "o.number, o.id, o.first, o.last, o.tokens, o.covered_tokens, o.created_by, o.created_at,"
    " o.metadata, o.summary"
)
TOKENS_IN_OVERLAY = 4

Names = dict[int, str | None]
"""The sessions behind home numbers, as far as they are known."""


def message_of(tx: Connection, row: tuple[Any, ...], names: Names) -> Message:
    """Make a message of its row; `names` is filled as homes are met."""
    pos, home, id, role, tokens, version, created_at, data = row
    if home not in names:
        names[home] = tx.value("SELECT id FROM session WHERE home = ?", (home,))
    body = decode_body(data, id)
    return Message(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & MAX_DEPTH,
        home=names[home],
        tokens=tokens,
        version=version,
        created_us=created_at,
    )


def first_digest(tx: Connection, pos: int) -> bytes:
    """Give the digest of a live message as it was first appended."""
    id, role, kept, body = tx.row(
        "SELECT id, role, digest, body FROM message WHERE pos = ?", (pos,)
    )
    found: bytes = digest(role, decode_body(body, id)) if kept is None else kept
    return found


def overlay_of(row: tuple[Any, ...]) -> Overlay:
    """Make an overlay of its row."""
    _, id, first, last, tokens, covered, created_by, created_at, metadata, summary = row
    return Overlay(
        id=id,
        first=public(first),
        last=public(last),
        summary=summary,
        tokens=tokens,
        covered_tokens=covered,
        metadata={} if metadata == b"{}" else decode_json(metadata, f"overlay {id!r}"),
        created_by=created_by,
        created_us=created_at,
    )


RECORD_COLUMNS = (
    "s.id, s.tip, s.tip_id, s.fork, s.context, s.messages, s.version, s.created_at, s.active_at,"
    " p.title, p.state, p.tags, p.budget, p.parent_kind, p.parent, p.data"
)
RECORD_TABLES = "standing s JOIN profile p ON p.session = s.number"
CONTEXT_IN_RECORD = 4


def record_of(row: tuple[Any, ...], context: int) -> SessionRecord:
    """Make a session's record of its row; `context` is what the row has, or was worked out."""
    # Taken apart at once, without slices: every look at how full a context is comes through here.
    (
        id,
        tip,
        tip_id,
        fork,
        _,
        messages,
        version,
        created_at,
        active_at,
        title,
        state,
        tags,
        budget,
        parent_kind,
        parent,
        data,
    ) = row
    if tip and tip_id is None:
        raise StoreCorruptError(f"the tip of session {id!r} is missing")
    return SessionRecord(
        id=id,
        tip=tip_id or ROOT,
        tip_position=public(tip) if tip else None,
        title=title,
        state=state,
        tags=[] if tags == "[]" else decode_json(tags, f"session {id!r}"),
        data={} if data == b"{}" else decode_json(data, f"session {id!r}"),
        budget=budget,
        parent=_edge(id, parent_kind, parent) if parent else None,
        forked_at=public(fork) if fork else None,
        messages=messages,
        context_tokens=context,
        version=version,
        created_us=created_at,
        active_us=active_at,
    )


def _edge(id: str, kind: str, parent: str) -> Edge:
    try:
        return Edge(kind=EdgeKind(kind), session=parent)
    except ValueError as error:
        raise StoreCorruptError(
            f"the link of session {id!r} to its parent is of no known kind: {kind!r}"
        ) from error

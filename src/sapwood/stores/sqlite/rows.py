"""Rows to records."""

from __future__ import annotations

from typing import Any

from ...errors import StoreCorruptError
from ...model import ROOT, Edge, EdgeKind, Message, Overlay, SessionRecord
from ...rules.codec import decode_body, decode_json
from .connection import Connection
from .lookup import SessionRow
from .position import DEPTH_BITS, MAX_DEPTH, public
from .sums import context_at

MESSAGE_COLUMNS = "m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at, m.body"
OVERLAY_COLUMNS = (
    "o.number, o.id, o.first, o.last, o.tokens, o.covered_tokens, o.created_by, o.created_at,"
    " o.metadata, o.summary"
)

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
        metadata=decode_json(metadata, f"the metadata of overlay {id!r}"),
        created_by=created_by,
        created_us=created_at,
    )


PROFILE_COLUMNS = "p.title, p.state, p.tags, p.budget, p.parent_kind, p.parent, p.data"


def record_of(
    tx: Connection, session: SessionRow, tip: str | None, profile: tuple[Any, ...]
) -> SessionRecord:
    """Make a session's record of its rows."""
    title, state, tags, budget, parent_kind, parent, data = profile
    if session.tip and tip is None:
        raise StoreCorruptError(f"the tip of session {session.id!r} is missing")
    context = session.context
    if context is None:
        context = context_at(tx, session, session.tip)
        assert context is not None
    where = f"the record of session {session.id!r}"
    return SessionRecord(
        id=session.id,
        tip=tip or ROOT,
        tip_position=public(session.tip) if session.tip else None,
        title=title,
        state=state,
        tags=decode_json(tags, where),
        data=decode_json(data, where),
        budget=budget,
        parent=Edge(kind=EdgeKind(parent_kind), session=parent) if parent else None,
        forked_at=public(session.fork) if session.fork else None,
        messages=session.messages,
        context_tokens=context,
        version=session.version,
        created_us=session.created_at,
        active_us=session.active_at,
    )

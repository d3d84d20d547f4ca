"""Rows to records."""

from __future__ import annotations

from typing import Any

from ...errors import StoreCorruptError
from ...model import ROOT, Edge, EdgeKind, Message, Root, SessionRecord
from ...rules.codec import decode_body, decode_json
from ..relational.position import DEPTH_BITS, MAX_DEPTH, public
from ..relational.rows import HomeNames

MESSAGE_COLUMNS = "m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at, m.body"
OVERLAY_COLUMNS = (
    "o.number, o.id, o.first, o.last, o.tokens, o.covered_tokens, o.created_by, o.created_at,"
    " o.metadata, o.summary"
)
# The last three of a `SessionRow` are not kept here: nothing is known of them.
SESSION_COLUMNS = (
    "s.number, s.owner, s.id, s.home, s.tree, s.tip, s.fork, s.context, s.messages, s.overlays,"
    " s.version, s.created_at, s.active_at, s.active_s, 0, 0, 1"
)
RECORD_COLUMNS = (
    "s.id, s.tip, t.id, s.fork, s.context, s.messages, s.version, s.created_at, s.active_at,"
    " p.title, p.state, p.tags, p.budget, p.parent_kind, p.parent, p.data"
)
RECORD_TABLES = (
    "{s}.session s JOIN {s}.profile p ON p.tree = s.tree AND p.session = s.number"
    # By itself, so that it is looked up by its position, whatever is known about the table.
    " LEFT JOIN LATERAL (SELECT m.id FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip"
    " OFFSET 0) t ON true"
)
CONTEXT_IN_RECORD = 4


def id_or_root(id: str | None) -> str | Root:
    """Give the id of the message at a position; None stands for the root."""
    return ROOT if id is None else id


def message_of(row: tuple[Any, ...], names: HomeNames) -> Message:
    """Make a message of its row."""
    pos, home, id, role, tokens, version, created_at, data = row
    body = decode_body(data, id)
    return Message(
        id=id,
        role=role,
        parts=body.parts,
        metadata=body.metadata,
        segment=str(pos >> DEPTH_BITS),
        depth=pos & MAX_DEPTH,
        home=names.get(home),
        tokens=tokens,
        version=version,
        created_us=created_at,
    )


def record_of(row: tuple[Any, ...], context: int) -> SessionRecord:
    """Make a session's record of its row; `context` is what the row has, or was worked out."""
    id, tip, tip_id, fork, _, messages, version, created_at, active_at = row[:9]
    title, state, tags, budget, parent_kind, parent, data = row[9:]
    if tip and tip_id is None:
        raise StoreCorruptError(f"the tip of session {id!r} is missing")
    return SessionRecord(
        id=id,
        tip=tip_id or ROOT,
        tip_position=public(tip) if tip else None,
        title=None if title is None else title.decode(),
        state=state,
        tags=tags,
        data={} if data == b"{}" else decode_json(data, f"session {id!r}"),
        budget=budget,
        parent=Edge(kind=EdgeKind(parent_kind), session=parent) if parent else None,
        forked_at=public(fork) if fork else None,
        messages=messages,
        context_tokens=context,
        version=version,
        created_us=created_at,
        active_us=active_at,
    )

"""Rows to records."""

from __future__ import annotations

from typing import Any

from ...model import ROOT, Message, Root
from ...rules.codec import decode_body
from ..relational.position import DEPTH_BITS, MAX_DEPTH
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

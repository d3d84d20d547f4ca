"""Rows to records."""

from __future__ import annotations

from ...model import ROOT, Root

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
    " p.title, p.state, p.tags, p.budget, p.parent_kind, p.parent, p.attributes,"
    " p.model, p.source, p.end_reason"
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

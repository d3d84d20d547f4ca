"""The columns of which records are made, and those of messages that are about to be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...rules.codec import Packed
from .words import body_words

MESSAGE_COLUMNS = "m.pos, m.home, m.id, m.role, m.tokens, m.version, m.created_at, m.body"
OVERLAY_COLUMNS = (
    "o.number, o.id, o.first, o.last, o.tokens, o.covered_tokens, o.created_by, o.created_at,"
    " o.metadata, o.summary"
)
# What a `SessionRow` has of `ends`, `running` and `edited` is not kept here: 0, 0 and 1 say so.
SESSION_COLUMNS = (
    "s.number, s.owner, s.id, s.home, s.tree, s.tip, s.fork, s.context, s.messages, s.overlays,"
    " s.version, s.created_at, s.active_at, s.active_s, 0, 0, 1, s.closed,"
    " EXISTS (SELECT 1 FROM {s}.data x WHERE x.tree = s.tree), s.kind"
)
RECORD_COLUMNS = (
    "s.id, s.tip, t.id, s.fork, s.context, s.messages, s.version, s.created_at, s.active_at,"
    " p.title, p.state, p.tags, p.budget, p.parent_kind, p.parent, p.attributes,"
    " p.model, p.source, p.end_reason, p.system, p.system_key, p.title_key, s.closed,"
    " CASE WHEN EXISTS (SELECT 1 FROM {s}.data x WHERE x.tree = s.tree)"
    " THEN {s}.data_at(s.tree, s.tip) ELSE 0 END, s.kind, s.updated_at"
)
RECORD_TABLES = (
    "{s}.session s JOIN {s}.profile p ON p.tree = s.tree AND p.session = s.number"
    # By itself, so that it is looked up by its position, whatever is known about the table.
    " LEFT JOIN LATERAL (SELECT m.id FROM {s}.message m WHERE m.tree = s.tree AND m.pos = s.tip"
    " OFFSET 0) t ON true"
)
STORE_TIME = "coalesce(%(at)s::bigint, {s}.now_us())"
"""The server's time, or that of a clock that was given; of creation, a caller may say another."""
NEW_COLUMN_TYPES = "%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bytea[], %s::text[]"


def new_columns(batch: Sequence[Packed]) -> list[list[Any]]:
    """Return ids, roles, tokens, times, bodies and words, each as a list."""
    return [
        [it.id for it in batch],
        [it.role for it in batch],
        [it.tokens for it in batch],
        [it.created_us for it in batch],
        [it.body for it in batch],
        [body_words(it.body, it.id) for it in batch],
    ]

"""Forks in few round trips: a lock, a look where it is not at the tip, and one write."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import UNSET

from ....errors import StoreCorruptError
from ....model import ROOT, EdgeKind, ForkPoint, NewSession, SessionRecord
from ....rules.codec import encode_json
from ...relational.pins import pinned_ids
from ...relational.rows import CONTEXT_IN_RECORD, SessionRow
from ..rows import RECORD_COLUMNS, SESSION_COLUMNS
from .sessions import AsyncPostgresSessionStatements
from .sums import covering
from .tx import AsyncTx

# The owner is locked in a query of its own, and so before the tree, as everywhere.
_LOCK = (
    "SELECT o.number, {s}.now_us(),"
    " EXISTS (SELECT 1 FROM {s}.directory d WHERE d.owner = o.number AND d.id = %(id)s),"
    " EXISTS (SELECT 1 FROM {s}.directory d WHERE d.owner = o.number AND d.id = %(parent)s),"
    f" {SESSION_COLUMNS}"
    " FROM (SELECT number, name FROM {s}.owner WHERE name = %(owner)s FOR KEY SHARE) o"
    " CROSS JOIN LATERAL {s}.locked_session(o.name, %(source)s) s"
)
# What a statement sees is what was there before it waited: this comes after the lock is had.
_LOOK = (
    "SELECT n.pos, d.value FROM (SELECT 1) one LEFT JOIN"
    " {s}.seen(%(tree)s, %(source)s, %(home)s, %(fork)s, %(ids)s::text[]) n ON true"
    " LEFT JOIN {s}.document d ON d.tree = %(tree)s AND d.session = %(source)s"
    " AND d.key = 'pins' AND d.expires_at IS NULL"
)
_WRITE = (
    "WITH new AS (SELECT nextval('{s}.home_number') AS home, nextval('{s}.session_number') AS n),"
    " claimed AS (INSERT INTO {s}.directory AS d (owner, id, number, tree)"
    " SELECT %(owner)s, %(id)s, new.n, %(tree)s FROM new"
    " ON CONFLICT (owner, id) DO NOTHING RETURNING d.number),"
    " covers AS MATERIALIZED (SELECT f.last, f.width, f.overlay FROM {s}.in_force f"
    " WHERE f.tree = %(tree)s AND f.session = %(source)s"
    " AND {s}.is_on_path(f.tree, f.last, %(pos)s)),"
    " s AS (INSERT INTO {s}.session AS s (tree, number, owner, id, home, tip, fork, context,"
    " overlays, created_at, active_at, active_s)"
    " SELECT %(tree)s, c.number, %(owner)s, %(id)s, new.home, %(pos)s, %(pos)s,"
    " coalesce(%(context)s::bigint, {s}.context_at(%(tree)s, %(covering)s::bigint, %(pos)s,"
    " ARRAY(SELECT n.pos FROM {s}.seen(%(tree)s, %(source)s, %(home)s, %(fork)s,"
    " %(pins)s::text[]) n WHERE n.is_live))), (SELECT count(*) FROM covers),"
    " %(now)s, %(now)s, %(now)s / 1000000"
    " FROM new JOIN claimed c ON c.number = new.n RETURNING s.*),"
    " p AS (INSERT INTO {s}.profile AS p (tree, session, title, state, tags, budget, parent_kind,"
    " parent, attributes, model, source, end_reason) SELECT o.tree, c.number, %(title)s, %(state)s,"
    " coalesce(%(tags)s::text[], o.tags),"
    " CASE WHEN %(has_budget)s THEN %(budget)s::bigint ELSE o.budget END, %(kind)s, %(parent)s,"
    " coalesce(%(attributes)s, o.attributes),"
    " CASE WHEN %(has_model)s THEN %(model)s ELSE o.model END,"
    " CASE WHEN %(has_origin)s THEN %(origin)s ELSE o.source END, %(end_reason)s"
    " FROM {s}.profile o CROSS JOIN claimed c"
    " WHERE o.tree = %(tree)s AND o.session = %(source)s RETURNING p.*),"
    " documents AS (INSERT INTO {s}.document (tree, session, key, version, updated_at, value)"
    " SELECT d.tree, c.number, d.key, nextval('{s}.document_version'), d.updated_at, d.value"
    " FROM {s}.document d CROSS JOIN claimed c"
    " WHERE d.tree = %(tree)s AND d.session = %(source)s AND d.expires_at IS NULL),"
    " taken AS (INSERT INTO {s}.in_force (tree, session, last, width, overlay)"
    " SELECT %(tree)s, c.number, f.last, f.width, f.overlay FROM covers f CROSS JOIN claimed c),"
    # Where the session that wrote the fork point is gone, the source's homes are taken.
    " point AS MATERIALIZED (SELECT m.id, m.home, coalesce((SELECT w.number FROM {s}.session w"
    " WHERE w.tree = m.tree AND w.home = m.home), %(source)s) AS writer"
    " FROM {s}.message m WHERE m.tree = %(tree)s AND m.pos = %(pos)s),"
    " homes AS (INSERT INTO {s}.inherited (tree, session, home) SELECT %(tree)s, c.number, h.home"
    " FROM claimed c CROSS JOIN (SELECT i.home FROM {s}.inherited i JOIN point"
    " ON i.session = point.writer WHERE i.tree = %(tree)s UNION SELECT point.home FROM point) h)"
    f" SELECT {RECORD_COLUMNS} FROM s CROSS JOIN p LEFT JOIN point t ON true"
)


async def fork_at_once(
    tx: AsyncTx, owner: str, new: NewSession, point: ForkPoint
) -> SessionRecord | None:
    """Fork a session; None, and nothing written, when it has to be planned."""
    parent = point.session if new.parent is None else new.parent.session
    asked = {"owner": owner, "id": new.id, "parent": parent, "source": point.session}
    found = await tx.row(_LOCK, asked)
    if found is None:
        return None
    number, now, is_taken, has_parent, *row = found
    place = await _place(tx, SessionRow._make(row), point)
    if is_taken or not has_parent or place is None:
        return None
    if new.created_us is not None:
        now = new.created_us
    elif tx.clock is not None:
        now = tx.clock()
    values = place | _profile(new, parent) | {"owner": number, "id": new.id, "now": now}
    made = await tx.row(_WRITE, values)
    if made is None:
        return None
    return AsyncPostgresSessionStatements(tx).record_of(made, made[CONTEXT_IN_RECORD])


async def _place(tx: AsyncTx, source: SessionRow, point: ForkPoint) -> dict[str, Any] | None:
    """Return where a fork is to stand, and by what its context is worked out if it is not known."""
    place = {
        "tree": source.tree,
        "source": source.number,
        "home": source.home,
        "fork": source.fork,
        "covering": covering(source),
    }
    pos, pins = 0 if point.message is ROOT else source.tip, []
    ids = [point.message] if isinstance(point.message, str) else []
    if ids or source.context is None:
        found = await tx.rows(_LOOK, {**place, "ids": ids})
        seen, data = found[0]
        if len(found) > 1 or (ids and seen is None):
            return None
        pos = seen if ids else pos
        # Reading says what is wrong with pins; a sum must not stop a write.
        with suppress(StoreCorruptError):
            pins = [] if data is None else pinned_ids(data, source.id)
    context = source.context if pos == source.tip else None
    return {**place, "pos": pos, "pins": pins, "context": context}


def _profile(new: NewSession, parent: str) -> dict[str, Any]:
    """Return what is said of a fork; None, for tags and attributes, stands for the source's."""
    return {
        "title": None if new.title is None else new.title.encode(),
        "state": new.state,
        "tags": None if new.tags is UNSET else list(new.tags),
        "has_budget": new.budget is not UNSET,
        "budget": None if new.budget is UNSET else new.budget,
        "kind": (EdgeKind.BRANCH if new.parent is None else new.parent.kind).value,
        "parent": parent,
        "attributes": None
        if new.attributes is UNSET
        else encode_json(new.attributes, "attributes"),
        "has_model": new.model is not UNSET,
        "model": None if new.model is UNSET else new.model,
        "has_origin": new.source is not UNSET,
        "origin": None if new.source is UNSET else new.source,
        "end_reason": new.end_reason,
    }

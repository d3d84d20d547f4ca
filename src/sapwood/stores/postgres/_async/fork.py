"""Forks in few round trips (a lock, a look where it is not at the tip, one write), or planned."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import UNSET

from ....errors import StoreCorruptError
from ....model import ROOT, EdgeKind, ForkPoint, NewSession, SessionRecord
from ....rules.codec import encode_json
from ...relational._async.fork import AsyncForkStatements, CopiedPath
from ...relational.listed import packed_system, title_key
from ...relational.position import DEPTH_BITS, MAX_DEPTH
from ...relational.rows import CONTEXT_IN_RECORD, Row, SessionRow, pinned_ids
from ..rows import OVERLAY_COLUMNS, RECORD_COLUMNS, SESSION_COLUMNS, STORE_TIME
from ..words import home_word
from .data import copy_data
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
    " overlays, kind, version, created_at, active_at, active_s, updated_at, state)"
    " SELECT %(tree)s, c.number, %(owner)s, %(id)s, new.home, %(pos)s, %(pos)s,"
    " coalesce(%(context)s::bigint, {s}.context_at(%(tree)s, %(covering)s::bigint, %(pos)s,"
    " ARRAY(SELECT n.pos FROM {s}.seen(%(tree)s, %(source)s, %(home)s, %(fork)s,"
    " %(pins)s::text[]) n WHERE n.is_live))), (SELECT count(*) FROM covers),"
    f" %(of_kind)s, {{s}}.first_version(), %(now)s, %(now)s, %(now)s / 1000000, {STORE_TIME},"
    " %(state)s FROM new JOIN claimed c ON c.number = new.n RETURNING s.*),"
    " told AS (INSERT INTO {s}.change (owner, session, tree, kind, first, last, at, name)"
    " SELECT s.owner, s.number, s.tree, 8, s.version, s.version, %(told_at)s, s.id FROM s),"
    " p AS (INSERT INTO {s}.profile AS p (tree, session, title, state, tags, budget, parent_kind,"
    " parent, attributes, model, source, end_reason, system, system_key, title_key)"
    " SELECT o.tree, c.number, %(title)s, %(state)s,"
    " coalesce(%(tags)s::text[], o.tags),"
    " CASE WHEN %(has_budget)s THEN %(budget)s::bigint ELSE o.budget END, %(kind)s, %(parent)s,"
    " coalesce(%(attributes)s, o.attributes),"
    " CASE WHEN %(has_model)s THEN %(model)s ELSE o.model END,"
    " CASE WHEN %(has_origin)s THEN %(origin)s ELSE o.source END, %(end_reason)s,"
    " %(system)s, %(system_key)s, %(title_key)s"
    " FROM {s}.profile o CROSS JOIN claimed c"
    " WHERE o.tree = %(tree)s AND o.session = %(source)s RETURNING p.*),"
    " tagged AS (INSERT INTO {s}.tag SELECT DISTINCT %(owner)s, t.tag, p.session"
    " FROM p, unnest(p.tags) t(tag)),"
    " documents AS (INSERT INTO {s}.document (tree, session, key, version, updated_at, value,"
    " created_at) SELECT d.tree, c.number, d.key, nextval('{s}.document_version'), d.updated_at,"
    " d.value, d.created_at"
    " FROM {s}.document d CROSS JOIN claimed c"
    " WHERE d.tree = %(tree)s AND d.session = %(source)s AND d.expires_at IS NULL"
    " AND d.inherit),"
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
_IN_FORCE = " WHERE f.tree = %s AND f.session = %s AND {s}.is_on_path(f.tree, f.last, %s)"
_OVERLAYS = (
    f"SELECT {OVERLAY_COLUMNS} FROM {{s}}.in_force f JOIN {{s}}.overlay o"
    f" ON o.tree = f.tree AND o.number = f.overlay{_IN_FORCE} ORDER BY o.number"
)
_TAKE_OVER = (
    "WITH taken AS (INSERT INTO {s}.in_force SELECT f.tree, %s, f.last, f.width, f.overlay"
    f" FROM {{s}}.in_force f{_IN_FORCE} RETURNING 1) SELECT count(*) FROM taken"
)
_COPY_DOCUMENTS = (
    "INSERT INTO {s}.document (tree, session, key, version, updated_at, value, created_at)"
    " SELECT %s, %s, key, nextval('{s}.document_version'), updated_at, value, created_at"
    " FROM {s}.document WHERE tree = %s AND session = %s AND expires_at IS NULL"
    " AND inherit"
)
_COPY_MESSAGES = (
    "INSERT INTO {s}.message (tree, pos, home, tokens, path_tokens, version, created_at, id, role,"
    " digest, body, words)"
    " SELECT %(tree)s, %(base)s | (m.pos & 16777215), %(home)s, m.tokens,"
    " sum(m.tokens) OVER (ORDER BY m.pos & 16777215), m.version, m.created_at, m.id, m.role,"
    " m.digest, m.body, ts_delete(m.words, '_h' || m.home) || array_to_tsvector(%(marks)s::text[])"
    " FROM {s}.visible(%(from)s, NULL, %(leaf)s) v"
    " JOIN {s}.message m ON m.tree = %(from)s AND m.pos BETWEEN v.first AND v.last"
)
_CHANGE = (
    "INSERT INTO {s}.change (owner, session, tree, kind, first, last, at)"
    " VALUES (%s, %s, %s, 1, %s, %s, %s)"
)
_LIVE = "SELECT count(*) FROM {s}.message WHERE tree = %s AND body IS NOT NULL"


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
    source = SessionRow._make(row)
    place = await _place(tx, source, point)
    if is_taken or not has_parent or place is None:
        return None
    at = tx.given_time()
    told_at = now if at is None else at
    created_at = told_at if new.created_us is None else new.created_us
    named = {"owner": number, "id": new.id, "now": created_at, "told_at": told_at, "at": at}
    values = place | _profile(new, parent) | named
    values["system"], values["system_key"] = packed_system(number, new.system)
    values["title_key"] = title_key(number, new.title)
    values["of_kind"] = source.kind if new.kind is UNSET else new.kind
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


class AsyncPostgresForkStatements(AsyncForkStatements):
    """Statements about forks."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def fork_at_once(
        self, owner: str, new: NewSession, point: ForkPoint
    ) -> SessionRecord | None:
        return await fork_at_once(self._tx, owner, new, point)

    async def copy_documents(self, fork: SessionRow, source: SessionRow) -> None:
        args = (fork.tree, fork.number, source.tree, source.number)
        await self._tx.run(_COPY_DOCUMENTS, args)

    async def stand_on(self, fork: SessionRow, source: SessionRow, pos: int) -> int:
        if not pos:
            return 0
        await _inherit_homes(self._tx, fork, source, pos)
        if not source.overlays:
            return 0
        args = (fork.number, source.tree, source.number, pos)
        taken: int = await self._tx.value(_TAKE_OVER, args)
        return taken

    async def copy_path(self, fork: SessionRow, source: SessionRow, pos: int) -> CopiedPath:
        text = "SELECT {s}.new_segment(%s, %s, 0)"
        base = await self._tx.value(text, (fork.tree, fork.home)) << DEPTH_BITS
        args = {
            "tree": fork.tree,
            "base": base,
            "home": fork.home,
            "from": source.tree,
            "leaf": pos,
            "marks": [home_word(fork.home)],
        }
        await self._tx.run(_COPY_MESSAGES, args)
        if source.has_data:
            await copy_data(self._tx, fork, base, source, pos)
        place = (fork.owner, fork.number, fork.tree, base + 1, base | (pos & MAX_DEPTH))
        await self._tx.run(_CHANGE, (*place, await self._tx.now()))
        return CopiedPath(base, await self._tx.value(_LIVE, (fork.tree,)))

    async def overlays_on(self, source: SessionRow, pos: int) -> list[Row]:
        return await self._tx.rows(_OVERLAYS, (source.tree, source.number, pos))


async def _inherit_homes(tx: AsyncTx, fork: SessionRow, source: SessionRow, pos: int) -> None:
    """Note the homes on the path: that of the fork point, and those which its session inherited.

    Where that session is gone, the source's are taken: some of them may lie off the path.
    """
    home, number = await tx.row(
        "SELECT m.home, s.number FROM {s}.message m LEFT JOIN {s}.session s"
        " ON s.tree = m.tree AND s.home = m.home WHERE m.tree = %s AND m.pos = %s",
        (source.tree, pos),
    )
    await tx.run(
        "INSERT INTO {s}.inherited SELECT %(tree)s, %(fork)s, home FROM {s}.inherited"
        " WHERE tree = %(tree)s AND session = %(session)s"
        " UNION SELECT %(tree)s, %(fork)s, %(home)s",
        {
            "tree": source.tree,
            "fork": fork.number,
            "session": source.number if number is None else number,
            "home": home,
        },
    )

"""Statements about sessions, and about pages of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ....model import CHAT, SessionRecord
from ...relational._async.sessions import AsyncSessionStatements
from ...relational.rows import (
    TAGS_IN_RECORD,
    TITLE_IN_RECORD,
    Profile,
    Row,
    SessionRow,
    Touches,
    record_of,
)
from ..rows import RECORD_COLUMNS, RECORD_TABLES, SESSION_COLUMNS, STORE_TIME
from .lookup import AsyncPostgresLookupStatements
from .tx import AsyncTx

_RECORD = (
    f"SELECT {RECORD_COLUMNS} FROM {{s}}.owner o JOIN {{s}}.directory d ON d.owner = o.number"
    f" JOIN {RECORD_TABLES} ON s.tree = d.tree AND s.number = d.number"
    " WHERE o.name = %s AND d.id = %s"
)
_INHERITED = (
    "SELECT tags, budget, attributes, model, source FROM {s}.profile"
    " WHERE tree = %s AND session = %s"
)
# A home names the tree that begins with it, unless this is to be a fork in another one.
_INSERT = (
    "WITH new AS (SELECT nextval('{s}.home_number') AS home, nextval('{s}.session_number') AS n),"
    " claimed AS (INSERT INTO {s}.directory AS d (owner, id, number, tree)"
    " SELECT %(owner)s, %(id)s, new.n, coalesce(%(tree)s::bigint, new.home) FROM new"
    " ON CONFLICT (owner, id) DO NOTHING RETURNING d.number, d.tree),"
    " described AS (INSERT INTO {s}.profile (tree, session, title, state, tags, budget,"
    " parent_kind, parent, attributes, model, source, end_reason, system, system_key, title_key)"
    " SELECT c.tree, c.number, %(title)s, %(state)s, %(tags)s::text[], %(budget)s,"
    " %(parent_kind)s, %(parent)s, %(attributes)s, %(model)s, %(source)s, %(end_reason)s,"
    " %(system)s, %(system_key)s, %(title_key)s FROM claimed c),"
    " tagged AS (INSERT INTO {s}.tag SELECT DISTINCT %(owner)s, t.tag, c.number"
    " FROM claimed c, unnest(%(tags)s::text[]) t(tag))"
    " INSERT INTO {s}.session AS s (owner, id, home, number, tree, kind, version, created_at,"
    " active_at, active_s, updated_at, state)"
    " SELECT %(owner)s, %(id)s, new.home, c.number, c.tree, %(kind)s, {s}.first_version(),"
    f" %(now)s, %(now)s, %(now)s / 1000000, {STORE_TIME}, %(state)s"
    f" FROM new JOIN claimed c ON c.number = new.n RETURNING {SESSION_COLUMNS}"
)
_OF_PROFILE = " WHERE tree = %(tree)s AND session = %(number)s"
_COUNT_CHANGE = (
    "UPDATE {s}.session SET version = version + 1, closed = coalesce(%(closed)s::boolean, closed),"
    f" updated_at = {STORE_TIME}, active_at = coalesce(%(active)s::bigint, active_at),"
    " active_s = coalesce(%(active)s::bigint / 1000000, active_s),"
    " state = coalesce(%(state)s::text, state)"
    " WHERE tree = %(tree)s AND number = %(number)s"
)
_PLACE = (
    "UPDATE {s}.session SET tip = %(tip)s, fork = %(fork)s, context = %(context)s,"
    " messages = %(messages)s, overlays = %(overlays)s, version = %(version)s,"
    f" updated_at = {STORE_TIME}"
    " WHERE tree = %(tree)s AND number = %(number)s"
)
_NEW_HOME = "SELECT nextval('{s}.home_number')"
_CLEAR_SESSION = (
    "UPDATE {s}.session SET home = %(home)s, tree = %(home)s, tip = 0, fork = 0, context = 0,"
    f" messages = 0, overlays = 0, version = version + 1, updated_at = {STORE_TIME}"
    " WHERE tree = %(tree)s AND number = %(number)s"
)
_CLEAR_DOCUMENTS = (
    "DELETE FROM {s}.document WHERE tree = %(tree)s AND session = %(number)s"
    " AND (key = 'pins' OR expires_at IS NOT NULL OR NOT inherit)"
)
_CLEAR = (
    _CLEAR_SESSION,
    _CLEAR_DOCUMENTS,
    "UPDATE {s}.profile SET tree = %(home)s WHERE tree = %(tree)s AND session = %(number)s",
    "UPDATE {s}.usage SET tree = %(home)s WHERE tree = %(tree)s AND session = %(number)s",
    "UPDATE {s}.document SET tree = %(home)s WHERE tree = %(tree)s AND session = %(number)s",
    "UPDATE {s}.directory SET tree = %(home)s WHERE owner = %(owner)s AND id = %(id)s",
)
_DELETE = (
    "SELECT {s}.raise_floor(%(version)s)",
    "DELETE FROM {s}.session WHERE tree = %(tree)s AND number = %(number)s",
    "SELECT {s}.put_tags(%(owner)s, %(tree)s, %(number)s, '{}')",
    "DELETE FROM {s}.profile WHERE tree = %(tree)s AND session = %(number)s",
    "DELETE FROM {s}.usage WHERE tree = %(tree)s AND session = %(number)s",
    "DELETE FROM {s}.document WHERE tree = %(tree)s AND session = %(number)s",
    "DELETE FROM {s}.directory WHERE owner = %(owner)s AND id = %(id)s",
)
_LOCK_OWNER = "SELECT number FROM {s}.owner WHERE name = %s FOR UPDATE"
# In the order in which trees are locked everywhere.
_SOME = (
    "SELECT s.id FROM (SELECT id, tree, number FROM {s}.session WHERE owner = %s"
    " ORDER BY kind, number LIMIT %s) s ORDER BY s.tree, s.number"
)
_ERASE_REST = (
    "DELETE FROM {s}.document WHERE tree = -%s",
    "DELETE FROM {s}.reader WHERE owner = %s",
    "DELETE FROM {s}.change WHERE owner = %s",
    "DELETE FROM {s}.owner WHERE number = %s",
)
# What sessions still see of homes that are gone.
_LEFT_BEHIND = (
    "SELECT count(*) FROM (SELECT DISTINCT i.tree, i.home FROM {s}.session s"
    " JOIN {s}.inherited i ON i.tree = s.tree AND i.session = s.number"
    " WHERE s.owner = %(owner)s AND NOT EXISTS ("
    "SELECT 1 FROM {s}.session h WHERE h.tree = i.tree AND h.home = i.home)) gone"
    " JOIN {s}.message m ON m.tree = gone.tree AND m.home = gone.home WHERE m.body IS NOT NULL"
)
_COUNT = (
    f"SELECT coalesce(sum(messages), 0)::bigint + ({_LEFT_BEHIND}),"
    " (SELECT count(DISTINCT f.overlay) FROM {s}.session s JOIN {s}.in_force f"
    " ON f.tree = s.tree AND f.session = s.number WHERE s.owner = %(owner)s),"
    " (SELECT count(*) FROM (SELECT tree, number FROM {s}.session WHERE owner = %(owner)s"
    " UNION ALL SELECT -%(owner)s, 0) s JOIN {s}.document d ON d.tree = s.tree"
    " AND d.session = s.number AND (d.expires_at IS NULL OR d.expires_at > %(now)s))"
    f" FROM {{s}}.session WHERE owner = %(owner)s AND kind = '{CHAT}'"
)
_COUNT_SESSIONS = (
    "SELECT s.kind, p.state, count(*) FROM {s}.session s"
    " JOIN {s}.profile p ON p.tree = s.tree AND p.session = s.number"
    " WHERE s.owner = %s GROUP BY s.kind, p.state"
)


class AsyncPostgresSessionStatements(AsyncSessionStatements[AsyncTx]):
    """Statements about sessions."""

    async def find_record(self, owner: str, session: str) -> Row | None:
        rows = await self._tx.rows(_RECORD, (owner, session), often=True)
        return rows[0] if rows else None

    def record_of(self, row: Row, context: int) -> SessionRecord:
        title = row[TITLE_IN_RECORD]
        return record_of(
            row, context, None if title is None else title.decode(), row[TAGS_IN_RECORD]
        )

    def pack_tags(self, tags: list[str]) -> list[str]:
        return list(tags)

    async def inherited_profile(self, source: SessionRow) -> Row:
        found: Row = await self._tx.row(_INHERITED, (source.tree, source.number))
        return found

    async def insert(
        self,
        owner: str,
        number: int,
        id: str,
        now: int,
        tree: int | None,
        kind: str,
        profile: Profile,
    ) -> SessionRow | None:
        place = {"owner": number, "id": id, "tree": tree, "now": now, "kind": kind}
        place["at"] = self._tx.given_time()
        row = await self._tx.row(_INSERT, place | profile._asdict())
        return None if row is None else SessionRow._make(row)

    async def put_profile(self, session: SessionRow, columns: Mapping[str, Any]) -> None:
        place = {"tree": session.tree, "number": session.number}
        put = ", ".join(f"{column} = %({column})s" for column in columns)
        await self._tx.run(f"UPDATE {{s}}.profile SET {put}{_OF_PROFILE}", {**columns, **place})

    async def change(
        self,
        session: SessionRow,
        columns: Mapping[str, Any],
        closed: bool | None,
        active_us: int | None,
    ) -> None:
        place = {"tree": session.tree, "number": session.number}
        if "tags" in columns:
            tagged = (session.owner, session.tree, session.number, columns["tags"])
            await self._tx.run("SELECT {s}.put_tags(%s, %s, %s, %s)", tagged)
        if columns:
            await self.put_profile(session, columns)
        figures = {"closed": closed, "active": active_us, "state": columns.get("state")}
        figures["at"] = self._tx.given_time()
        await self._tx.run(_COUNT_CHANGE, place | figures)

    async def tell(self, session: SessionRow) -> None:
        sql = "SELECT {s}.tell_record(%s, %s, %s)"
        await self._tx.run(sql, (session.tree, session.number, await self._tx.now()))

    async def held(self, session: SessionRow, column: Literal["attributes", "system"]) -> bytes:
        sql = f"SELECT {column} FROM {{s}}.profile WHERE tree = %s AND session = %s"
        held: bytes = await self._tx.value(sql, (session.tree, session.number))
        return held

    async def place(self, session: SessionRow) -> None:
        await self._tx.run(_PLACE, session._asdict() | {"at": self._tx.given_time()})

    async def empty(self, session: SessionRow) -> None:
        args = session._replace(home=await self._tx.value(_NEW_HOME))._asdict()
        args["at"] = self._tx.given_time()
        for text in _CLEAR:
            await self._tx.run(text, args)

    async def delete(self, session: SessionRow) -> None:
        for text in _DELETE:
            await self._tx.run(text, session._asdict())

    async def lock_owner(self, name: str) -> int | None:
        found: int | None = await self._tx.value(_LOCK_OWNER, (name,))
        return found

    async def lock_some(self, owner: str, number: int, most: int) -> list[SessionRow | None]:
        lookup = AsyncPostgresLookupStatements(self._tx)
        ids = [id for (id,) in await self._tx.rows(_SOME, (number, most))]
        return [await lookup.lock_session(owner, id, Touches.NOTHING) for id in ids]

    async def erase_rest(self, owner: int) -> None:
        for text in _ERASE_REST:
            await self._tx.run(text, (owner,))

    async def count(self, owner: int, now: int) -> Row:
        found: Row = await self._tx.row(_COUNT, {"owner": owner, "now": now})
        return found

    async def count_sessions(self, owner: int) -> list[Row]:
        return await self._tx.rows(_COUNT_SESSIONS, (owner,))

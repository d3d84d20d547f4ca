"""Work on sessions: make, find, change, move, retire."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from ....errors import AlreadyExistsError, StaleVersionError
from ....model import (
    NewSession,
    Root,
    SessionPage,
    SessionPatch,
    SessionQuery,
    SessionRecord,
    Statistics,
)
from ....rules.codec import encode_json
from ...base.refusals import no_session
from ...relational.rows import SessionRow
from ..rows import CONTEXT_IN_RECORD, RECORD_COLUMNS, RECORD_TABLES, SESSION_COLUMNS, record_of
from . import listing
from .forking import fork_session
from .lookup import (
    find_owner,
    find_session,
    get_pos,
    get_session,
    lock_session,
    own_number,
)
from .sums import context_at
from .sweep import retire
from .tx import AsyncTx

ERASED_AT_ONCE = 100
"""How many sessions one transaction erases: a server has room for so many locks only."""

_RECORD = (
    f"SELECT {RECORD_COLUMNS} FROM {{s}}.owner o JOIN {{s}}.directory d ON d.owner = o.number"
    f" JOIN {RECORD_TABLES} ON s.tree = d.tree AND s.number = d.number"
    " WHERE o.name = %s AND d.id = %s"
)
# A home names the tree that begins with it, unless this is to be a fork in another one.
_INSERT = (
    "WITH new AS (SELECT nextval('{s}.home_number') AS home, nextval('{s}.session_number') AS n),"
    " claimed AS (INSERT INTO {s}.directory AS d (owner, id, number, tree)"
    " SELECT %(owner)s, %(id)s, new.n, coalesce(%(tree)s::bigint, new.home) FROM new"
    " ON CONFLICT (owner, id) DO NOTHING RETURNING d.number, d.tree)"
    " INSERT INTO {s}.session AS s (owner, id, home, number, tree, created_at, active_at, active_s)"
    " SELECT %(owner)s, %(id)s, new.home, c.number, c.tree, %(now)s, %(now)s, %(now)s / 1000000"
    f" FROM new JOIN claimed c ON c.number = new.n RETURNING {SESSION_COLUMNS}"
)
_NEW_HOME = "SELECT nextval('{s}.home_number')"
_CLEAR_SESSION = (
    "UPDATE {s}.session SET home = %(home)s, tree = %(home)s, tip = 0, fork = 0, context = 0,"
    " messages = 0, overlays = 0, version = version + 1"
    " WHERE tree = %(tree)s AND number = %(number)s"
)
_CLEAR_DOCUMENTS = (
    "DELETE FROM {s}.document WHERE tree = %(tree)s AND session = %(number)s"
    " AND (key = 'pins' OR expires_at IS NOT NULL)"
)
_CLEAR = (
    _CLEAR_SESSION,
    _CLEAR_DOCUMENTS,
    "UPDATE {s}.profile SET tree = %(home)s WHERE tree = %(tree)s AND session = %(number)s",
    "UPDATE {s}.usage SET tree = %(home)s WHERE tree = %(tree)s AND session = %(number)s",
    "UPDATE {s}.document SET tree = %(home)s WHERE tree = %(tree)s AND session = %(number)s",
    "UPDATE {s}.directory SET tree = %(home)s WHERE owner = %(owner)s AND id = %(id)s",
)
# In the order in which trees are locked everywhere.
_SOME = (
    "SELECT s.id FROM (SELECT id, tree, number FROM {s}.session WHERE owner = %s"
    " ORDER BY number LIMIT %s) s ORDER BY s.tree, s.number"
)
# What sessions still see of homes that are gone.
_LEFT_BEHIND = (
    "SELECT count(*) FROM (SELECT DISTINCT i.tree, i.home FROM {s}.session s"
    " JOIN {s}.inherited i ON i.tree = s.tree AND i.session = s.number"
    " WHERE s.owner = %(owner)s AND NOT EXISTS ("
    "SELECT 1 FROM {s}.session h WHERE h.tree = i.tree AND h.home = i.home)) gone"
    " JOIN {s}.message m ON m.tree = gone.tree AND m.home = gone.home WHERE m.body IS NOT NULL"
)
_DELETE = (
    "DELETE FROM {s}.session WHERE tree = %(tree)s AND number = %(number)s",
    "DELETE FROM {s}.profile WHERE tree = %(tree)s AND session = %(number)s",
    "DELETE FROM {s}.usage WHERE tree = %(tree)s AND session = %(number)s",
    "DELETE FROM {s}.document WHERE tree = %(tree)s AND session = %(number)s",
    "DELETE FROM {s}.directory WHERE owner = %(owner)s AND id = %(id)s",
)


class AsyncPostgresSessions:
    """Work on sessions."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def create(self, owner: str, new: NewSession) -> SessionRecord:
        """Create a session."""
        if await find_session(self._tx, owner, new.id) is not None:
            raise _exists(new.id)
        if new.parent is not None and not await find_session(self._tx, owner, new.parent.session):
            raise no_session(new.parent.session)
        source = None
        if new.fork is not None:
            source = await get_session(self._tx, owner, new.fork.session)
        row = await self._insert(owner, new, source)
        await self._insert_profile(row, new, source)
        if new.fork is not None and source is not None:
            await fork_session(self._tx, row, source, new.fork)
        return await self._get(owner, new.id)

    async def _insert(self, owner: str, new: NewSession, source: SessionRow | None) -> SessionRow:
        is_attached = new.fork is not None and not new.fork.detach
        args = {
            "owner": await own_number(self._tx, owner),
            "id": new.id,
            "tree": source.tree if source is not None and is_attached else None,
            "now": await self._tx.now() if new.created_us is None else new.created_us,
        }
        row = await self._tx.row(_INSERT, args)
        if row is None:
            raise _exists(new.id)
        return SessionRow._make(row)

    async def _insert_profile(
        self, row: SessionRow, new: NewSession, source: SessionRow | None
    ) -> None:
        tags: list[str] = []
        budget, data = None, b"{}"
        kind, parent = None, None
        if source is not None:
            tags, budget, data = await self._tx.row(
                "SELECT tags, budget, data FROM {s}.profile WHERE tree = %s AND session = %s",
                (source.tree, source.number),
            )
            kind, parent = "branch", source.id
        if new.parent is not None:
            kind, parent = new.parent.kind.value, new.parent.session
        await self._tx.run(
            "INSERT INTO {s}.profile (tree, session, title, state, tags, budget, parent_kind,"
            " parent, data) VALUES (%s, %s, %s, %s, %s::text[], %s, %s, %s, %s)",
            (
                row.tree,
                row.number,
                None if new.title is None else new.title.encode(),
                new.state,
                tags if new.tags is UNSET else list(new.tags),
                budget if new.budget is UNSET else new.budget,
                kind,
                parent,
                data if new.data is UNSET else encode_json(new.data, "data"),
            ),
        )

    async def glance(self, owner: str, session: str) -> tuple[bool, SessionRecord | None]:
        """Find a record with one statement; tell whether that was enough."""
        rows = await self._tx.call(_RECORD, (owner, session))
        if not rows:
            return True, None
        [found] = rows
        context = found[CONTEXT_IN_RECORD]
        return (False, None) if context is None else (True, record_of(found, context))

    async def find(self, owner: str, session: str) -> SessionRecord | None:
        """Find a session's record; its context is worked out if it is not known."""
        is_enough, record = await self.glance(owner, session)
        if is_enough:
            return record
        row = await find_session(self._tx, owner, session)
        if row is None:
            return None
        context = await context_at(self._tx, row, row.tip)
        return record_of(await self._tx.row(_RECORD, (owner, session)), context)

    async def _get(self, owner: str, session: str) -> SessionRecord:
        found = await self.find(owner, session)
        assert found is not None
        return found

    async def update(
        self, owner: str, session: str, patch: SessionPatch, expected_version: int | None
    ) -> SessionRecord:
        """Change a session's record."""
        row = await get_session(self._tx, owner, session)
        if expected_version is not None and row.version != expected_version:
            raise StaleVersionError(
                f"session {session!r} is at version {row.version}, not {expected_version}: "
                "read it again, then decide"
            )
        for text, value in _assignments(patch):
            await self._tx.run(text, (value, row.tree, row.number))
        await self._tx.run(
            "UPDATE {s}.session SET version = version + 1 WHERE tree = %s AND number = %s",
            (row.tree, row.number),
        )
        return await self._get(owner, session)

    async def checkout(self, owner: str, session: str, message: str | Root) -> SessionRecord:
        """Move the tip."""
        row = await get_session(self._tx, owner, session)
        pos = await get_pos(self._tx, row, message)
        context = await context_at(self._tx, row, pos)
        await self._tx.run(
            "UPDATE {s}.session SET tip = %s, context = %s WHERE tree = %s AND number = %s",
            (pos, context, row.tree, row.number),
        )
        return await self._get(owner, session)

    async def list_page(self, owner: str, query: SessionQuery) -> SessionPage:
        """List sessions."""
        return await listing.list_page(self._tx, owner, query, self._get)

    async def delete(self, owner: str, session: str) -> None:
        """Delete a session; its messages are left to be swept."""
        await self._delete(await get_session(self._tx, owner, session))

    async def _delete(self, row: SessionRow) -> None:
        await retire(self._tx, row)
        for text in _DELETE:
            await self._tx.run(text, row._asdict())

    async def clear(self, owner: str, session: str) -> SessionRecord:
        """Retire a session's messages and go on under a new number."""
        row = await get_session(self._tx, owner, session)
        await retire(self._tx, row)
        args = row._replace(home=await self._tx.value(_NEW_HOME))._asdict()
        for text in _CLEAR:
            await self._tx.run(text, args)
        return await self._get(owner, session)

    async def erase_some(self, owner: str) -> bool:
        """Delete some of an owner's sessions; tell whether there may be many more."""
        number = await find_owner(self._tx, owner)
        names = await self._tx.rows(_SOME, (number, ERASED_AT_ONCE))
        for (name,) in names:
            # Another may have deleted it while its lock was waited for.
            row = await lock_session(self._tx, owner, name)
            if row is not None:
                await self._delete(row)
        return len(names) == ERASED_AT_ONCE

    async def erase_owner(self, owner: str) -> None:
        """Delete all that an owner still has; whoever creates a session meanwhile waits."""
        number = await self._tx.value(
            "SELECT number FROM {s}.owner WHERE name = %s FOR UPDATE", (owner,)
        )
        if number is None:
            return
        while await self.erase_some(owner):
            continue
        for text in (
            "DELETE FROM {s}.document WHERE tree = -%s",
            "DELETE FROM {s}.reader WHERE owner = %s",
            "DELETE FROM {s}.change WHERE owner = %s",
            "DELETE FROM {s}.owner WHERE number = %s",
        ):
            await self._tx.run(text, (number,))

    async def statistics(self, owner: str) -> Statistics:
        """Count what an owner has."""
        number = await find_owner(self._tx, owner)
        sessions, messages, overlays, documents = await self._tx.row(
            f"SELECT count(*), coalesce(sum(messages), 0)::bigint + ({_LEFT_BEHIND}),"
            " (SELECT count(DISTINCT f.overlay) FROM {s}.session s JOIN {s}.in_force f"
            " ON f.tree = s.tree AND f.session = s.number WHERE s.owner = %(owner)s),"
            " (SELECT count(*) FROM (SELECT tree, number FROM {s}.session WHERE owner = %(owner)s"
            " UNION ALL SELECT -%(owner)s, 0) s JOIN {s}.document d ON d.tree = s.tree"
            " AND d.session = s.number AND (d.expires_at IS NULL OR d.expires_at > %(now)s))"
            " FROM {s}.session WHERE owner = %(owner)s",
            {"owner": number, "now": await self._tx.now()},
        )
        return Statistics(
            sessions=sessions, messages=messages, overlays=overlays, documents=documents
        )


def _exists(id: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"there is a session {id!r} already: open that one")


def _assignments(patch: SessionPatch) -> list[tuple[str, Any]]:
    """Give the statements that carry out a patch."""
    title = patch.title
    values = {
        "UPDATE {s}.profile SET title = %s WHERE tree = %s AND session = %s": (
            title.encode() if isinstance(title, str) else title
        ),
        "UPDATE {s}.profile SET state = %s WHERE tree = %s AND session = %s": patch.state,
        "UPDATE {s}.profile SET budget = %s WHERE tree = %s AND session = %s": patch.budget,
        "UPDATE {s}.profile SET tags = %s::text[] WHERE tree = %s AND session = %s": (
            UNSET if patch.tags is UNSET else list(patch.tags)
        ),
        "UPDATE {s}.profile SET data = %s WHERE tree = %s AND session = %s": (
            UNSET if patch.data is UNSET else encode_json(patch.data, "data")
        ),
    }
    return [(text, value) for text, value in values.items() if value is not UNSET]

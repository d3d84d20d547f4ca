"""The change feed: one row for each unit of work that changed messages, in commit order.

Numbers are not given out in the order of commits. So rows are ordered by their transaction's
number, and a reader stops before the oldest transaction that is unfinished: whatever commits
later comes after its cursor. Within a tree, transactions write one after the other. What has a
number that this server has not given out yet is from another one, whose dump was restored here: it
is no part of the feed.
"""

from __future__ import annotations

from typing import Any

from ....errors import NotFoundError
from ....model import Change, ChangeKind, Changes
from ...relational.position import MAX_DEPTH
from ..cursor import BEGINNING, Cursor
from .lookup import find_owner, own_number
from .tx import AsyncTx

KEPT_AT_LEAST_US = 24 * 3600 * 1_000_000

_KINDS = {
    1: ChangeKind.APPEND,
    2: ChangeKind.UPDATE,
    3: ChangeKind.DELETE,
    4: ChangeKind.RETIRE,
}
_PAGE = 200
_UNFINISHED = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_NOT_YET = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
_AFTER = (
    "SELECT xid, seq, session, tree, kind, first, last, at, name FROM {s}.change"
    f" WHERE owner = %s AND (xid, seq) > (%s, %s) AND xid < {_UNFINISHED}"
    " ORDER BY xid, seq LIMIT %s"
)
_MORE = (
    "SELECT EXISTS (SELECT 1 FROM {s}.change WHERE owner = %s AND (xid, seq) > (%s, %s)"
    f" AND xid < {_NOT_YET})"
)
# A replica may be behind what its primary gave out.
_LOST = (
    f"SELECT (trimmed_xid < {_NOT_YET} AND (%(xid)s, %(seq)s) < (trimmed_xid, trimmed_seq))"
    f" OR (%(xid)s >= {_NOT_YET} AND NOT pg_is_in_recovery())"
    " FROM {s}.owner WHERE number = %(owner)s"
)
# A message whose home is gone is only heard of again when another session deletes it.
_EXPAND = (
    "SELECT m.id, m.pos, coalesce(h.id, s.id) FROM {s}.message m"
    " LEFT JOIN {s}.session h ON h.tree = m.tree AND h.home = m.home"
    " LEFT JOIN {s}.directory s ON s.number = %s"
    " WHERE m.tree = %s AND m.pos BETWEEN %s AND %s AND coalesce(h.id, s.id) IS NOT NULL"
    " ORDER BY m.pos LIMIT %s"
)
_TRIM = (
    "DELETE FROM {s}.change c WHERE c.at < %s AND (c.xid, c.seq) < (SELECT n.xid, n.seq"
    " FROM {s}.change n WHERE n.owner = c.owner ORDER BY n.xid DESC, n.seq DESC LIMIT 1)"
    f" AND c.xid < {_UNFINISHED} AND NOT EXISTS (SELECT 1 FROM {{s}}.reader r"
    " WHERE r.owner = c.owner AND (r.xid, r.seq) < (c.xid, c.seq))"
    " RETURNING c.owner, c.xid, c.seq"
)
# Never back, but to this server's numbers: what a clock dated ahead is trimmed after later rows.
_TRIMMED = (
    "UPDATE {s}.owner SET trimmed_xid = %(xid)s, trimmed_seq = %(seq)s WHERE number = %(owner)s"
    f" AND (trimmed_xid >= {_NOT_YET} OR (trimmed_xid, trimmed_seq) < (%(xid)s, %(seq)s))"
)
_TRIM_OTHERS = f"DELETE FROM {{s}}.change WHERE xid >= {_NOT_YET}"


class AsyncPostgresFeed:
    """Work on the change feed."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def changes(self, owner: str, after: str, limit: int) -> Changes:
        """Read a page."""
        cursor = Cursor.read(after)
        number = await find_owner(self._tx, owner)
        await self._refuse_lost(number, cursor)
        found: list[Change] = []
        while rows := await self._tx.rows(_AFTER, (number, cursor.xid, cursor.seq, _PAGE)):
            for row in rows:
                room = limit - len(found)
                unseen = await self._expand(row, cursor.done, room + 1)
                for done, change in unseen[:room]:
                    found.append(change)
                    cursor = cursor._replace(done=done)
                if len(unseen) > room:
                    return Changes(changes=found, cursor=str(cursor), more=True)
                cursor = Cursor(row[0], row[1], 0)
        more = await self._tx.value(_MORE, (number, cursor.xid, cursor.seq))
        return Changes(changes=found, cursor=str(cursor), more=more)

    async def register(self, owner: str, reader: str, after: str) -> None:
        """Keep what follows a cursor from being trimmed."""
        cursor = Cursor.read(after)
        number = await own_number(self._tx, owner)
        await self._refuse_lost(number, cursor)
        await self._tx.run(
            "INSERT INTO {s}.reader VALUES (%s, %s, %s, %s) ON CONFLICT (owner, name)"
            " DO UPDATE SET xid = excluded.xid, seq = excluded.seq",
            (number, reader, cursor.xid, cursor.seq),
        )

    async def _expand(self, row: tuple[Any, ...], done: int, most: int) -> list[tuple[int, Change]]:
        """Give the changes after those that were told, each with how far it is from the first."""
        _, _, session, tree, kind, first, last, at, name = row
        told = _KINDS[kind]
        if told is ChangeKind.RETIRE:
            gone = Change(kind=told, session=name, message=None, depth=None, at_us=at)
            return [(1, gone)][done:]
        actor = session if told is ChangeKind.DELETE else 0
        args = (actor, tree, first + done, last, most)
        return [
            (
                pos - first + 1,
                Change(kind=told, session=home, message=id, depth=pos & MAX_DEPTH, at_us=at),
            )
            for id, pos, home in await self._tx.rows(_EXPAND, args)
        ]

    async def _refuse_lost(self, owner: int | None, cursor: Cursor) -> None:
        args = {"owner": owner, "xid": cursor.xid, "seq": cursor.seq}
        if cursor != BEGINNING and await self._tx.value(_LOST, args):
            raise NotFoundError(
                f"the feed was trimmed after cursor {cursor}, or that is another server's: "
                "read everything again, and name a reader to keep it",
                kind="cursor",
                id=str(cursor),
            )


async def trim_feed(tx: AsyncTx) -> None:
    """Remove what every registered reader has seen and is old enough; the newest row stays."""
    await tx.run(_TRIM_OTHERS)
    trimmed: dict[int, tuple[int, int]] = {}
    for owner, xid, seq in await tx.rows(_TRIM, (await tx.now() - KEPT_AT_LEAST_US,)):
        trimmed[owner] = max(trimmed.get(owner, (0, 0)), (xid, seq))
    for owner, (xid, seq) in trimmed.items():
        await tx.run(_TRIMMED, {"xid": xid, "seq": seq, "owner": owner})

"""The change feed: one row for each unit of work that changed messages, in commit order.

Numbers are not given out in the order of commits. So rows are ordered by their transaction's
number, and a reader stops before the oldest transaction that is unfinished: whatever commits
later comes after its cursor. Within a tree, transactions write one after the other. What has a
number that this server has not given out yet is from another one, whose dump was restored here: it
is no part of the feed.
"""

from __future__ import annotations

from ....model import Change
from ...relational._async.feed import AsyncFeedStatements
from ...relational.rows import KEPT_AT_LEAST_US, FeedCursor, Row, change_of, retirement
from .tx import AsyncTx

KIND_DELETE, KIND_RETIRE = 3, 4
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
    f"SELECT %(xid)s >= {_NOT_YET} AND NOT pg_is_in_recovery(),"
    f" trimmed_xid < {_NOT_YET} AND (%(xid)s, %(seq)s) < (trimmed_xid, trimmed_seq)"
    " FROM {s}.owner WHERE number = %(owner)s"
)
_PUT_READER = (
    "INSERT INTO {s}.reader VALUES (%s, %s, %s, %s) ON CONFLICT (owner, name)"
    " DO UPDATE SET xid = excluded.xid, seq = excluded.seq"
)
# A message whose home is gone is only heard of again when another session deletes it.
_EXPAND = (
    "SELECT m.id, m.pos, coalesce(h.id, s.id) FROM {s}.message m"
    " LEFT JOIN {s}.session h ON h.tree = m.tree AND h.home = m.home"
    " LEFT JOIN {s}.directory s ON s.number = %s"
    " WHERE m.tree = %s AND m.pos BETWEEN %s AND %s AND coalesce(h.id, s.id) IS NOT NULL"
    " AND (m.body IS NOT NULL OR m.role <> 'mark')"
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


class AsyncPostgresFeedStatements(AsyncFeedStatements[AsyncTx]):
    """Statements about the feed.

    A cursor is the last row that was read whole, by transaction and number, and how many positions
    of the next one were, too.
    """

    beginning = (0, 0, 0)

    async def is_lost(self, owner: int | None, cursor: FeedCursor) -> tuple[bool, bool]:
        xid, seq, _ = cursor
        found = await self._tx.row(_LOST, {"owner": owner, "xid": xid, "seq": seq})
        return found or (False, False)

    async def after(
        self, owner: int | None, cursor: FeedCursor, most: int, bound: int
    ) -> list[tuple[FeedCursor, Change | None]]:
        (xid, seq, done), room = cursor, most
        found: list[tuple[FeedCursor, Change | None]] = []
        while rows := await self._tx.rows(_AFTER, (owner, xid, seq, _PAGE)):
            for row in rows:
                unseen = await self._expand(row, done, room)
                found += [((xid, seq, told), change) for told, change in unseen]
                room -= len(unseen)
                if not room:
                    return found
                xid, seq, done = row[0], row[1], 0
                found.append(((xid, seq, done), None))
        return found

    async def _expand(self, row: Row, done: int, most: int) -> list[tuple[int, Change]]:
        """Return the changes after those that were told, each with how far it is from the first."""
        _, _, session, tree, kind, first, last, at, name = row
        if kind == KIND_RETIRE:
            return [(1, retirement(name, at))][done:]
        actor = session if kind == KIND_DELETE else 0
        rows = await self._tx.rows(_EXPAND, (actor, tree, first + done, last, most))
        return [(pos - first + 1, change_of(kind, home, id, pos, at)) for id, pos, home in rows]

    async def has_more(self, owner: int | None, cursor: FeedCursor) -> bool:
        return bool(await self._tx.value(_MORE, (owner, *cursor[:2])))

    async def put_reader(self, owner: int, reader: str, cursor: FeedCursor) -> None:
        await self._tx.run(_PUT_READER, (owner, reader, *cursor[:2]))


async def trim_feed(tx: AsyncTx) -> None:
    """Remove what every registered reader has seen and is old enough; the newest row stays."""
    await tx.run(_TRIM_OTHERS)
    trimmed: dict[int, tuple[int, int]] = {}
    for owner, xid, seq in await tx.rows(_TRIM, (await tx.now() - KEPT_AT_LEAST_US,)):
        trimmed[owner] = max(trimmed.get(owner, (0, 0)), (xid, seq))
    for owner, (xid, seq) in trimmed.items():
        await tx.run(_TRIMMED, {"xid": xid, "seq": seq, "owner": owner})

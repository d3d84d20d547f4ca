"""The change feed: one row for each unit of work that changed messages, and for each that changed a
session's record, in commit order. The latter have the record's version in place of positions.

Numbers are not given out in the order of commits. So rows are ordered by their transaction's
number, and a reader stops before the oldest transaction that is unfinished: whatever commits
later comes after its cursor. Within a tree, transactions write one after the other. What has a
number that this server has not given out yet is from another one, whose dump was restored here: it
is no part of the feed.
"""

from __future__ import annotations

from ....model import Change, ChangedOwners
from ...base.feed_age import KEPT_AT_LEAST_US, KEPT_AT_MOST_US
from ...base.refusals import cursor_ahead, feed_trimmed
from ...relational._async.feed import AsyncFeedStatements
from ...relational.changes import (
    FeedCursor,
    change_of,
    feed_cursor_text,
    read_feed_cursor,
    record_change_of,
)
from ...relational.rows import (
    KIND_DELETE,
    KIND_RECORD,
    KIND_RETIRE,
    Row,
)
from .tx import AsyncTx

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
_NEWEST = (
    "SELECT c.xid, c.seq FROM {s}.change c WHERE c.owner = %(owner)s"
    f" AND c.xid < {_UNFINISHED} ORDER BY c.xid DESC, c.seq DESC LIMIT 1"
)
_TRIMMED_TO = (
    "SELECT trimmed_xid, trimmed_seq FROM {s}.owner"
    f" WHERE number = %(owner)s AND trimmed_xid < {_NOT_YET}"
)
_DROP_READER = "DELETE FROM {s}.reader WHERE owner = %s AND name = %s RETURNING 1"
_PUT_READER = (
    "INSERT INTO {s}.reader VALUES (%s, %s, %s, %s) ON CONFLICT (owner, name)"
    " DO UPDATE SET xid = excluded.xid, seq = excluded.seq"
)
# A message whose home is gone is only heard of again when another session deletes it.
_EXPAND = (
    "SELECT m.id, m.pos, m.version, coalesce(h.id, s.id) FROM {s}.message m"
    " LEFT JOIN {s}.session h ON h.tree = m.tree AND h.home = m.home"
    " LEFT JOIN {s}.directory s ON s.number = %s"
    " WHERE m.tree = %s AND m.pos BETWEEN %s AND %s AND coalesce(h.id, s.id) IS NOT NULL"
    " AND (m.body IS NOT NULL OR m.role <> 'mark')"
    " ORDER BY m.pos LIMIT %s"
)
_LOSE_READERS = (
    "DELETE FROM {s}.reader r WHERE EXISTS (SELECT 1 FROM {s}.change c WHERE c.owner = r.owner"
    f" AND (c.xid, c.seq) > (r.xid, r.seq) AND c.at < %s AND c.xid < {_UNFINISHED})"
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
_MARKS = (
    f"SELECT {_UNFINISHED}, %(xid)s >= {_NOT_YET} AND NOT pg_is_in_recovery(),"
    " EXISTS (SELECT 1 FROM {s}.owner WHERE trimmed_xid >= %(xid)s"
    f" AND trimmed_xid < {_NOT_YET})"
)
_OWNERS = (
    "SELECT o.number, o.name FROM (SELECT DISTINCT c.owner FROM {s}.change c"
    " WHERE c.xid >= %s AND c.xid < %s AND c.owner > %s ORDER BY c.owner LIMIT %s) c"
    " JOIN {s}.owner o ON o.number = c.owner ORDER BY o.number"
)


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
        self, owner: int | None, cursor: FeedCursor, most: int, bound: FeedCursor
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
        if kind in (KIND_RETIRE, KIND_RECORD):
            return [(1, record_change_of(kind, name, tree, first, at))][done:]
        actor = session if kind == KIND_DELETE else 0
        rows = await self._tx.rows(_EXPAND, (actor, tree, first + done, last, most))
        return [
            (pos - first + 1, change_of(kind, home, id, tree, pos, version, at))
            for id, pos, version, home in rows
        ]

    async def has_more(self, owner: int | None, cursor: FeedCursor) -> bool:
        return bool(await self._tx.value(_MORE, (owner, *cursor[:2])))

    async def newest(self, owner: int) -> FeedCursor:
        # What was committed behind a transaction that is unfinished is told after this.
        found = [await self._tx.row(it, {"owner": owner}) for it in (_NEWEST, _TRIMMED_TO)]
        xid, seq = max(row for row in ((0, 0), *found) if row is not None)
        return xid, seq, 0

    async def put_reader(self, owner: int, reader: str, cursor: FeedCursor) -> None:
        await self._tx.run(_PUT_READER, (owner, reader, *cursor[:2]))

    async def drop_reader(self, owner: int, reader: str) -> bool:
        return await self._tx.value(_DROP_READER, (owner, reader)) is not None


async def trim_feed(tx: AsyncTx) -> None:
    """Remove what every registered reader has seen and is old enough; the newest row stays."""
    await tx.run(_TRIM_OTHERS)
    trimmed: dict[int, tuple[int, int]] = {}
    now = await tx.now()
    await tx.run(_LOSE_READERS, (now - KEPT_AT_MOST_US,))
    for owner, xid, seq in await tx.rows(_TRIM, (now - KEPT_AT_LEAST_US,)):
        trimmed[owner] = max(trimmed.get(owner, (0, 0)), (xid, seq))
    for owner, (xid, seq) in trimmed.items():
        await tx.run(_TRIMMED, {"xid": xid, "seq": seq, "owner": owner})


async def changed_owners(tx: AsyncTx, after: str, limit: int) -> ChangedOwners:
    """List the owners of the changes of all transactions after one, up to the oldest unfinished.

    A cursor is where these begin and end, and the last owner of them that was given.
    """
    first, end, last = read_feed_cursor(after, (0, 0, 0))
    unfinished, is_ahead, is_trimmed = await tx.row(_MARKS, {"xid": first})
    if is_ahead:
        raise cursor_ahead(after)
    if first and is_trimmed:
        raise feed_trimmed(after)
    end = end if last else unfinished
    rows = await tx.rows(_OWNERS, (first, end, last, limit + 1))
    more = len(rows) > limit
    cursor = (first, end, rows[limit - 1][0]) if more else (end, end, 0)
    owners = [name for _, name in rows[:limit]]
    return ChangedOwners(owners=owners, cursor=feed_cursor_text(cursor), more=more)

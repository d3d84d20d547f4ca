"""Work on messages that are there: change, erase, find, and look around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....errors import ConflictError
from ....model import Appended, Deleted, Gap, History, Leaf, Message, Read, Root
from ....rules.codec import Packed, decode_body, digest
from ...base.refusals import no_message
from ...relational.position import public
from ...relational.rows import SeenMessage, SessionRow
from ..words import body_words, home_word, owner_word
from . import appending, reading
from .lookup import (
    find_all_seen,
    find_seen,
    get_pos,
    get_session,
    learn_names,
    message_at,
    messages_of,
    rows_at,
)
from .sums import renew_context
from .tx import AsyncTx

KIND_APPEND, KIND_UPDATE, KIND_DELETE, KIND_RETIRE = range(1, 5)

_UPDATE = (
    "UPDATE {s}.message SET role = %s, tokens = %s, digest = %s, body = %s,"
    " words = %s::tsvector || array_to_tsvector(%s::text[]), version = version + 1"
    " WHERE tree = %s AND pos = %s"
)
_ERASE = (
    "UPDATE {s}.message SET role = '', tokens = 0, digest = NULL, body = NULL, words = NULL,"
    " version = version + 1 WHERE tree = %s AND pos = ANY (%s)"
)
_QUOTING = (
    "SELECT o.id FROM {s}.overlay o WHERE o.tree = %s AND EXISTS ("
    " SELECT 1 FROM unnest(%s::bigint[]) d(pos) WHERE (d.pos & 16777215) >= (o.first & 16777215)"
    " AND {s}.is_on_path(o.tree, d.pos, o.last)) ORDER BY o.number"
)
_FOLLOWERS = (
    "SELECT g.number << 24 | ((g.parent & 16777215) + 1) FROM {s}.segment g"
    " WHERE g.tree = %(tree)s AND g.parent = %(pos)s AND g.home = %(home)s"
    " UNION SELECT m.pos FROM {s}.message m WHERE m.tree = %(tree)s AND m.pos = %(pos)s + 1"
    " AND %(pos)s > 0 AND (m.home = %(home)s OR {s}.is_on_path(m.tree, m.pos, %(fork)s))"
    " UNION SELECT (v.first >> 24 << 24) | (%(pos)s & 16777215) + 1"
    " FROM {s}.visible(%(tree)s, NULL, %(fork)s) v"
    " WHERE (%(pos)s & 16777215) + 1 BETWEEN v.first & 16777215 AND v.last & 16777215"
    " AND (%(pos)s = 0 OR {s}.is_on_path(%(tree)s, %(pos)s, %(fork)s))"
)
# OFFSET 0 has each span sought by itself: the few NULLs would be looked for in the whole table.
_GAPS = (
    "SELECT m.pos, m.id, h.id FROM {s}.visible(%(tree)s, NULL, %(leaf)s) v"
    " CROSS JOIN LATERAL (SELECT m.* FROM {s}.message m WHERE m.tree = %(tree)s AND m.pos BETWEEN"
    " greatest(v.first, (v.first >> 24 << 24) + %(after)s + 1) AND v.last"
    " AND m.body IS NULL OFFSET 0) m"
    " LEFT JOIN {s}.session h ON h.tree = m.tree AND h.home = m.home"
    " ORDER BY m.pos & 16777215"
)
_ENDS = (
    "SELECT (SELECT max(m.pos) FROM {s}.message m WHERE m.tree = g.tree"
    " AND m.pos BETWEEN g.number << 24 AND g.number << 24 | 16777215)"
    " FROM {s}.segment g WHERE g.tree = %(tree)s AND g.home = %(home)s"
    " UNION SELECT %(fork)s::bigint WHERE %(fork)s > 0"
    " EXCEPT SELECT g.parent FROM {s}.segment g WHERE g.tree = %(tree)s AND g.home = %(home)s"
)


class AsyncPostgresMessages:
    """Work on messages."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def append(
        self,
        owner: str,
        session: str,
        batch: Sequence[Packed],
        parent: str | Root | None,
        expected_tip: str | Root | None,
    ) -> Appended:
        """Append a batch."""
        return await appending.append_planned(self._tx, owner, session, batch, parent, expected_tip)

    async def read(self, owner: str, session: str, query: Read) -> History:
        """Read a path."""
        return await reading.read(self._tx, owner, session, query)

    async def find(self, owner: str, session: str, ids: Sequence[str]) -> list[Message | None]:
        """Find messages by id."""
        row = await get_session(self._tx, owner, session)
        seen = await find_all_seen(self._tx, row, ids)
        live = [it.pos for it in seen.values() if it.is_live]
        rows = await rows_at(self._tx, row.tree, live)
        messages = await self._messages(row, list(rows.values()))
        found = {message.id: message for message in messages}
        return [found.get(id) for id in ids]

    async def _messages(self, row: SessionRow, rows: list[Any]) -> list[Message]:
        return await messages_of(self._tx, row.tree, rows, {row.home: row.id})

    async def update(self, owner: str, session: str, message: Packed) -> Message:
        """Replace a message's content."""
        row = await get_session(self._tx, owner, session)
        seen = await find_seen(self._tx, row, message.id)
        if seen is None or not seen.is_live:
            raise no_message(session, message.id)
        if seen.home != row.home:
            raise ConflictError(
                f"message {message.id!r} belongs to another session: edit it there, "
                "or append a new one"
            )
        role, tokens, kept, body = await self._tx.row(
            "SELECT role, tokens, digest, body FROM {s}.message WHERE tree = %s AND pos = %s",
            (row.tree, seen.pos),
        )
        first = digest(role, decode_body(body, message.id)) if kept is None else kept
        await self._write(row, seen.pos, message, first)
        await self._note(row, [seen.pos], [message.tokens - tokens], KIND_UPDATE)
        return await message_at(self._tx, row, seen.pos)

    async def _write(self, row: SessionRow, pos: int, message: Packed, first: bytes) -> None:
        marks = [owner_word(row.owner), home_word(row.home)]
        words = body_words(message.body, message.id)
        content = (message.role, message.tokens, first, message.body, words, marks)
        await self._tx.run(_UPDATE, (*content, row.tree, pos))

    async def delete(self, owner: str, session: str, ids: Sequence[str]) -> Deleted:
        """Erase messages."""
        row = await get_session(self._tx, owner, session)
        seen = await find_all_seen(self._tx, row, ids)
        doomed: dict[str, SeenMessage] = {}
        for id in ids:
            if id not in seen:
                raise no_message(session, id)
            if seen[id].is_live:
                doomed[id] = seen[id]
        await self._refuse_inherited(row, doomed)
        if not doomed:
            return Deleted(ids=[], quoting_overlays=[])
        positions = [it.pos for it in doomed.values()]
        quoting = await self._tx.rows(_QUOTING, (row.tree, positions))
        await self._erase(row, positions)
        return Deleted(ids=list(doomed), quoting_overlays=[id for (id,) in quoting])

    async def _refuse_inherited(self, row: SessionRow, doomed: dict[str, SeenMessage]) -> None:
        names: dict[int, str | None] = {}
        await learn_names(self._tx, row.tree, names, (it.home for it in doomed.values()))
        for id, it in doomed.items():
            if it.home != row.home and names[it.home] is not None:
                raise ConflictError(
                    f"message {id!r} belongs to session {names[it.home]!r}: "
                    "delete it through that one"
                )

    async def _erase(self, row: SessionRow, positions: list[int]) -> None:
        """Empty positions, and keep the figures right."""
        held = dict(
            await self._tx.rows(
                "SELECT pos, tokens FROM {s}.message WHERE tree = %s AND pos = ANY (%s)",
                (row.tree, positions),
            )
        )
        await self._tx.run(
            "UPDATE {s}.session s SET messages = s.messages - (SELECT count(*) FROM {s}.message m"
            " WHERE m.tree = s.tree AND m.home = s.home AND m.pos = ANY (%s))"
            " WHERE s.tree = %s AND s.number = %s",
            (positions, row.tree, row.number),
        )
        await self._tx.run(_ERASE, (row.tree, positions))
        await self._note(row, positions, [-held[pos] for pos in positions], KIND_DELETE)

    async def _note(
        self, row: SessionRow, positions: list[int], deltas: list[int], kind: int
    ) -> None:
        """Keep the feed and the sums right after messages changed."""
        await self._tx.run(
            "SELECT {s}.note_changes(%s, %s, %s::bigint[], %s::bigint[], %s, %s)",
            (row.tree, row.number, positions, deltas, kind, await self._tx.now()),
        )
        await renew_context(self._tx, row)

    async def children(self, owner: str, session: str, message: str | Root) -> list[Message]:
        """List what follows a message."""
        row = await get_session(self._tx, owner, session)
        pos = await get_pos(self._tx, row, message)
        args = {"tree": row.tree, "pos": pos, "home": row.home, "fork": row.fork}
        found = [child for (child,) in await self._tx.rows(_FOLLOWERS, args)]
        rows = await rows_at(self._tx, row.tree, found)
        live = [rows[child] for child in sorted(rows) if rows[child][-1] is not None]
        return await self._messages(row, live)

    async def gaps(self, owner: str, session: str, leaf: str, after: int) -> list[Gap]:
        """List the empty positions of a path."""
        row = await get_session(self._tx, owner, session)
        args = {"tree": row.tree, "leaf": await get_pos(self._tx, row, leaf), "after": after}
        rows = await self._tx.rows(_GAPS, args)
        return [Gap(id=id, position=public(pos), home=home) for pos, id, home in rows]

    async def leaves(self, owner: str, session: str) -> list[Leaf]:
        """List the ends of a session's branches."""
        row = await get_session(self._tx, owner, session)
        args = {"tree": row.tree, "home": row.home, "fork": row.fork}
        ends = sorted(pos for (pos,) in await self._tx.rows(_ENDS, args))
        rows = await rows_at(self._tx, row.tree, ends)
        live = [rows[pos] for pos in ends if rows[pos][-1] is not None]
        messages = await self._messages(row, live)
        by_pos = {it[0]: message for it, message in zip(live, messages, strict=True)}
        return [
            Leaf(id=rows[pos][2], position=public(pos), message=by_pos.get(pos)) for pos in ends
        ]

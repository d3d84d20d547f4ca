"""How full the context is, and what is shown: worked out by the server."""

from __future__ import annotations

from ....errors import StoreCorruptError
from ....rules.tree import Cover, Span
from ...relational._async.documents import find_pins
from ...relational._async.sums import AsyncSumStatements
from ...relational.position import pack_place, place_of, span_of
from ...relational.rows import SessionRow
from ..rows import OVERLAY_COLUMNS, SESSION_COLUMNS
from .documents import AsyncPostgresDocumentStatements
from .lookup import AsyncPostgresLookupStatements
from .tx import AsyncTx

_VISIBLE = (
    f"SELECT v.first, v.last, v.cover, {OVERLAY_COLUMNS} FROM {{s}}.visible(%s, %s::bigint, %s)"
    " WITH ORDINALITY v(first, last, cover, nth)"
    # Each is sought by itself, however many there are in the tree.
    " LEFT JOIN LATERAL (SELECT * FROM {s}.overlay o WHERE o.tree = %s AND o.number = v.cover"
    " OFFSET 0) o ON true ORDER BY v.nth"
)


class AsyncPostgresSumStatements(AsyncSumStatements[AsyncTx]):
    """Statements about what a session shows, which the server works out."""

    async def visible(self, session: SessionRow, leaf: int) -> list[Span | Cover]:
        args = (session.tree, covering(session), leaf, session.tree)
        return [
            span_of(first, last)
            if cover is None
            else Cover(cover, place_of(first), place_of(last), tuple(overlay))
            for first, last, cover, *overlay in await self._tx.rows(_VISIBLE, args)
        ]

    async def pins_under(self, session: SessionRow, pins: list[int], cover: Cover) -> list[int]:
        args = (session.tree, pins, pack_place(cover.first), pack_place(cover.last))
        sql = "SELECT {s}.pins_under(%s, %s::bigint[], %s, %s)"
        return list(await self._tx.value(sql, args))

    async def context_at(self, session: SessionRow, leaf: int) -> int:
        args = (session.tree, covering(session), leaf, await self._find_pins(session))
        return int(
            await self._tx.value("SELECT {s}.context_at(%s, %s::bigint, %s, %s::bigint[])", args)
        )

    async def renew_context(self, session: SessionRow) -> None:
        context = await self.context_at(session, session.tip)
        sql = "UPDATE {s}.session SET context = %s, overlays = %s WHERE tree = %s AND number = %s"
        await self._tx.run(sql, (context, session.overlays, session.tree, session.number))

    async def _find_pins(self, session: SessionRow) -> list[int]:
        """Return the positions of the live messages that are pinned; none if it cannot be read.

        Reading says what is wrong; a sum must not stop a write.
        """
        if not session.overlays:
            return []
        tx = self._tx
        documents, lookup = AsyncPostgresDocumentStatements(tx), AsyncPostgresLookupStatements(tx)
        try:
            return await find_pins(documents, lookup, tx.now, session)
        except StoreCorruptError:
            return []


def covering(session: SessionRow) -> int | None:
    """Return the number by which overlays are looked for; None when there are none."""
    return session.number if session.overlays else None


async def renew_one(tx: AsyncTx) -> bool:
    """Renew the sums of one tree that was left to be; return whether there was one."""
    tree = await tx.value("SELECT tree FROM {s}.session WHERE is_to_sum LIMIT 1")
    if tree is None:
        return False
    await tx.run("SELECT {s}.lock_tree(%s)", (tree,))
    sql = f"SELECT {SESSION_COLUMNS} FROM {{s}}.session s WHERE s.tree = %s AND s.is_to_sum"
    for row in await tx.rows(sql, (tree,)):
        await AsyncPostgresSumStatements(tx).renew_context(SessionRow._make(row))
    return True

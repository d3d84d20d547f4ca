"""How full the context is, and what is shown: worked out by the server."""

from __future__ import annotations

from ....errors import StoreCorruptError
from ....rules.overlay import Cover
from ....rules.tree import Span
from ...relational._async.sums import AsyncSumStatements
from ...relational.pins import PINS_KEY, pinned_ids
from ...relational.position import pack_place, place_of, span_of
from ...relational.rows import SessionRow
from ..rows import OVERLAY_COLUMNS, SESSION_COLUMNS
from .lookup import find_all_seen
from .tx import AsyncTx

_PINS = (
    "SELECT value FROM {s}.document WHERE tree = %s AND session = %s AND key = %s"
    " AND (expires_at IS NULL OR expires_at > %s)"
)


_VISIBLE = (
    f"SELECT v.first, v.last, v.cover, {OVERLAY_COLUMNS} FROM {{s}}.visible(%s, %s::bigint, %s)"
    " WITH ORDINALITY v(first, last, cover, nth)"
    # Each is sought by itself, however many there are in the tree.
    " LEFT JOIN LATERAL (SELECT * FROM {s}.overlay o WHERE o.tree = %s AND o.number = v.cover"
    " OFFSET 0) o ON true ORDER BY v.nth"
)


def covering(session: SessionRow) -> int | None:
    """Give the number by which overlays are looked for; None when there are none."""
    return session.number if session.overlays else None


async def find_pins(tx: AsyncTx, session: SessionRow, *, strict: bool = False) -> list[int]:
    """Give the positions of the live messages that are pinned.

    Pins that cannot be read are an error when it is `strict`, and none otherwise: reading says
    what is wrong, a sum must not stop a write.
    """
    if not session.overlays:
        return []
    args = (session.tree, session.number, PINS_KEY, await tx.now())
    data = await tx.value(_PINS, args)
    try:
        ids = [] if data is None else pinned_ids(data, session.id)
    except StoreCorruptError:
        if strict:
            raise
        return []
    seen = await find_all_seen(tx, session, ids)
    return [it.pos for it in seen.values() if it.is_live]


async def context_at(tx: AsyncTx, session: SessionRow, leaf: int) -> int:
    """Sum the tokens shown at a leaf."""
    pins = await find_pins(tx, session)
    found: int = await tx.value(
        "SELECT {s}.context_at(%s, %s::bigint, %s, %s::bigint[])",
        (session.tree, covering(session), leaf, pins),
    )
    return found


async def renew_context(tx: AsyncTx, session: SessionRow) -> int:
    """Work out a session's context at its tip, and keep it."""
    context = await context_at(tx, session, session.tip)
    sql = "UPDATE {s}.session SET context = %s WHERE tree = %s AND number = %s"
    await tx.run(sql, (context, session.tree, session.number))
    return context


async def visible(tx: AsyncTx, session: SessionRow, leaf: int) -> list[Span | Cover]:
    """Give what is shown at a leaf, from the leaf upwards."""
    rows = await tx.rows(
        _VISIBLE,
        (session.tree, covering(session), leaf, session.tree),
    )
    return [
        span_of(first, last)
        if cover is None
        else Cover(cover, place_of(first), place_of(last), tuple(overlay))
        for first, last, cover, *overlay in rows
    ]


async def renew_one(tx: AsyncTx) -> bool:
    """Renew the sums of one tree that was left to be; tell whether there was one."""
    tree = await tx.value("SELECT tree FROM {s}.session WHERE is_to_sum LIMIT 1")
    if tree is None:
        return False
    await tx.run("SELECT {s}.lock_tree(%s)", (tree,))
    for row in await tx.rows(
        f"SELECT {SESSION_COLUMNS} FROM {{s}}.session s WHERE s.tree = %s AND s.is_to_sum",
        (tree,),
    ):
        await renew_context(tx, SessionRow._make(row))
    return True


class AsyncPostgresSumStatements(AsyncSumStatements[AsyncTx]):
    """Statements about what a session shows, which the server works out."""

    async def visible(self, session: SessionRow, leaf: int) -> list[Span | Cover]:
        return await visible(self._tx, session, leaf)

    async def pins_under(self, session: SessionRow, pins: list[int], cover: Cover) -> list[int]:
        args = (session.tree, pins, pack_place(cover.first), pack_place(cover.last))
        under: list[int] = await self._tx.value(
            "SELECT {s}.pins_under(%s, %s::bigint[], %s, %s)", args
        )
        return under

    async def context_at(self, session: SessionRow, leaf: int) -> int:
        return await context_at(self._tx, session, leaf)

    async def renew_context(self, session: SessionRow) -> int:
        return await renew_context(self._tx, session)

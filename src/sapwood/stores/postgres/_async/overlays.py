"""Work on overlays."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....errors import (
    AlreadyExistsError,
    ConflictError,
    LeaseLostError,
    UsageError,
)
from ....model import EntryRef, Fence, NewOverlay, Overlay
from ....rules.codec import encode_json
from ....rules.overlay import Cover
from ....rules.tree import Place, Span
from ...base.refusals import no_message, no_overlay
from ...relational.position import bounds, pack_place, place_of
from ...relational.rows import SessionRow
from ..rows import OVERLAY_COLUMNS, overlay_of
from ..words import owner_word, text_words
from .lookup import find_seen, get_pos, get_session
from .sums import renew_context, visible
from .tx import AsyncTx

_INSERT = (
    "INSERT INTO {s}.overlay AS o (tree, number, id, first, last, tokens, covered_tokens,"
    " created_by, created_at, metadata, summary, words)"
    " VALUES (%s, nextval('{s}.overlay_number'), %s, %s, %s, %s, %s, %s, %s, %s, %s,"
    f" %s::tsvector || array_to_tsvector(%s::text[])) RETURNING {OVERLAY_COLUMNS}"
)
_FIND = (
    f"SELECT {OVERLAY_COLUMNS} FROM {{s}}.overlay o JOIN {{s}}.in_force f ON f.tree = o.tree"
    " AND f.overlay = o.number AND f.session = %s WHERE o.tree = %s AND o.id = %s"
)
_TOKENS_BETWEEN = (
    "SELECT {s}.deltas_between(m.tree, m.pos, %(last)s) + {s}.path_tokens_at(m.tree, %(last)s)"
    " - m.path_tokens + m.tokens - coalesce((SELECT e.delta FROM {s}.edit e"
    " WHERE e.tree = m.tree AND e.pos = m.pos), 0)"
    " FROM {s}.message m WHERE m.tree = %(tree)s AND m.pos = %(first)s"
)
_CHANGED = (
    "SELECT EXISTS (SELECT 1 FROM {s}.visible(%(tree)s, NULL, %(last)s) v JOIN {s}.edit e"
    " ON e.tree = %(tree)s AND e.pos BETWEEN v.first AND v.last"
    " WHERE (e.pos & 16777215) >= %(depth)s AND e.seq > %(snapshot)s)"
)


class AsyncPostgresOverlays:
    """Work on overlays."""

    def __init__(self, tx: AsyncTx) -> None:
        self._tx = tx

    async def add(
        self, owner: str, session: str, new: NewOverlay, id: str, tokens: int, fence: Fence | None
    ) -> Overlay:
        """Put an overlay over a range."""
        row = await get_session(self._tx, owner, session)
        if fence is not None:
            await self._refuse_if_lost(row, fence)
        leaf = row.tip if new.leaf is None else await get_pos(self._tx, row, new.leaf)
        begin, end = await self._end(row, new.first), await self._end(row, new.last)
        items = await visible(self._tx, row, leaf)
        _refuse_order(items, begin, end)
        covered = await self._covered_tokens(row, items, begin, end)
        await self._refuse_if_changed(row, new.snapshot, begin.first, end.last)
        if await self._tx.value(
            "SELECT 1 FROM {s}.overlay WHERE tree = %s AND id = %s", (row.tree, id)
        ):
            raise AlreadyExistsError(f"there is an overlay {id!r} in this tree already")
        figures = (tokens, covered, row.id, await self._tx.now())
        place = (pack_place(begin.first), pack_place(end.last))
        said = (new.summary.encode(), text_words(new.summary), [owner_word(row.owner)])
        metadata = encode_json(new.metadata, "metadata")
        made = await self._tx.row(_INSERT, (row.tree, id, *place, *figures, metadata, *said))
        await self._tx.run(
            "INSERT INTO {s}.in_force VALUES (%s, %s, %s, %s, %s)",
            (row.tree, row.number, pack_place(end.last), -begin.first.depth, made[0]),
        )
        await self._renew(row, +1)
        return overlay_of(made)

    async def in_force(self, owner: str, session: str) -> list[Overlay]:
        """List a session's overlays."""
        row = await get_session(self._tx, owner, session)
        rows = await self._tx.rows(
            f"SELECT {OVERLAY_COLUMNS} FROM {{s}}.in_force f JOIN {{s}}.overlay o"
            " ON o.tree = f.tree AND o.number = f.overlay"
            " WHERE f.tree = %s AND f.session = %s ORDER BY o.number",
            (row.tree, row.number),
        )
        return [overlay_of(found) for found in rows]

    async def undo(self, owner: str, session: str, overlay: str) -> Overlay:
        """Take an overlay out of force."""
        row = await get_session(self._tx, owner, session)
        found = await self._find(row, overlay)
        if found is None:
            raise no_overlay(row.id, overlay)
        await self._tx.run(
            "DELETE FROM {s}.in_force WHERE tree = %s AND session = %s AND last = %s"
            " AND overlay = %s",
            (row.tree, row.number, found[3], found[0]),
        )
        await self._tx.run("SELECT {s}.drop_unused(%s, %s::bigint[])", (row.tree, [found[0]]))
        await self._renew(row, -1)
        return overlay_of(found)

    async def _renew(self, row: SessionRow, added: int) -> None:
        overlays = row.overlays + added
        await self._tx.run(
            "UPDATE {s}.session SET overlays = %s WHERE tree = %s AND number = %s",
            (overlays, row.tree, row.number),
        )
        await renew_context(self._tx, row._replace(overlays=overlays))

    async def _find(self, row: SessionRow, id: str) -> Any:
        return await self._tx.row(_FIND, (row.number, row.tree, id))

    async def _refuse_if_lost(self, row: SessionRow, fence: Fence) -> None:
        version = await self._tx.value(
            "SELECT version FROM {s}.document WHERE tree = %s AND session = %s AND key = %s",
            (row.tree, row.number, fence.key),
        )
        if version != fence.version:
            raise LeaseLostError(
                f"the lease {fence.key!r} of session {row.id!r} was taken over, released or "
                "cleared: take it again and start over"
            )

    async def _end(self, row: SessionRow, ref: EntryRef) -> _End:
        """Find an entry that a range may begin or end with."""
        if ref.kind == "overlay":
            found = await self._find(row, ref.id)
            if found is None:
                raise no_overlay(row.id, ref.id)
            return _End(found[0], place_of(found[2]), place_of(found[3]))
        seen = await find_seen(self._tx, row, ref.id)
        if seen is None:
            raise no_message(row.id, ref.id)
        if not seen.is_live:
            raise ConflictError(f"message {ref.id!r} was deleted: choose one that is shown")
        return _End(None, place_of(seen.pos), place_of(seen.pos))

    async def _covered_tokens(
        self, row: SessionRow, items: list[Span | Cover], first: _End, last: _End
    ) -> int:
        """Sum what is visible in a range; raise unless both its ends are visible entries."""
        total = 0
        for item in _from(items, last):
            total += await self._tokens_of(row, item, first)
            if first.is_in(item):
                return total
            if _top(item) <= first.first.depth:
                break
        raise ConflictError("an end of the range is not shown at this leaf: read the history again")

    async def _tokens_of(self, row: SessionRow, item: Span | Cover, first: _End) -> int:
        if isinstance(item, Cover):
            sql = "SELECT tokens FROM {s}.overlay WHERE tree = %s AND number = %s"
            tokens: int = await self._tx.value(sql, (row.tree, item.number))
            return tokens
        if first.is_in(item):
            item = item._replace(first=first.first.depth)
        start, end = bounds(item)
        args = {"tree": row.tree, "first": start, "last": end}
        between: int = await self._tx.value(_TOKENS_BETWEEN, args)
        return between

    async def _refuse_if_changed(
        self, row: SessionRow, snapshot: str | None, first: Place, last: Place
    ) -> None:
        if snapshot is None:
            return
        if not (snapshot.isascii() and snapshot.isdigit() and len(snapshot) <= 18):
            raise UsageError(f"{snapshot!r} is not a snapshot of this store", path="snapshot")
        args = {
            "tree": row.tree,
            "last": pack_place(last),
            "depth": first.depth,
            "snapshot": int(snapshot),
        }
        if await self._tx.value(_CHANGED, args):
            raise ConflictError(
                "a message in the range was edited or deleted since it was read: read it again"
            )


class _End(NamedTuple):
    """An entry at an end of a range: a message, or all that an overlay covers."""

    overlay: int | None
    first: Place
    last: Place

    def is_in(self, item: Span | Cover) -> bool:
        """Tell whether a visible item is, or contains, this entry."""
        if isinstance(item, Cover):
            return item.number == self.overlay
        segment, depth = self.first
        is_inside = item.segment == segment and item.first <= depth <= item.last
        return self.overlay is None and is_inside


def _refuse_order(items: list[Span | Cover], first: _End, last: _End) -> None:
    """Refuse ends in the wrong order; what is not shown has none, and is refused as such."""
    if first.first.depth <= last.last.depth:
        return
    if all(any(end.is_in(item) for item in items) for end in (first, last)):
        raise UsageError("the first entry of the range comes after the last", path="first")


def _from(items: list[Span | Cover], last: _End) -> list[Span | Cover]:
    """Give what is visible from the range's last entry upwards; nothing if it is not shown."""
    for index, item in enumerate(items):
        if last.is_in(item):
            if isinstance(item, Span):
                item = item._replace(last=last.last.depth)
            return [item, *items[index + 1 :]]
    return []


def _top(item: Span | Cover) -> int:
    return item.first.depth if isinstance(item, Cover) else item.first

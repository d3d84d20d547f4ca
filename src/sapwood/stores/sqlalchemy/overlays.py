"""Work on overlays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, delete, exists, select

from ...errors import AlreadyExistsError, ConflictError, LeaseLostError, UsageError
from ...model import EntryRef, Fence, NewOverlay, Overlay
from ...rules.codec import encode_json
from ...rules.overlay import Cover
from ...rules.tree import Place, Span, spans_up
from ..base.refusals import no_message, no_overlay
from ..relational.position import MAX_DEPTH, bounds, pack_place, place_of
from ..relational.rows import SessionRow
from .appending import put_session
from .lookup import find_seen, get_pos, get_session, in_parts
from .rows import overlay_columns, overlay_of
from .sums import deltas_between, path_tokens, renew_context
from .tables import Tables
from .tx import Row, Tx
from .view import View


class SqlOverlays:
    """Work on overlays."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def add(
        self, owner: str, session: str, new: NewOverlay, id: str, tokens: int, fence: Fence | None
    ) -> Overlay:
        """Put an overlay over a range."""
        row = get_session(self._tx, owner, session)
        if fence is not None:
            self._refuse_if_lost(row, fence)
        leaf = row.tip if new.leaf is None else get_pos(self._tx, row, new.leaf)
        begin, end = self._end(row, new.first), self._end(row, new.last)
        if begin.first.depth > end.last.depth:
            self._refuse_order(row, leaf, begin, end)
        covered = self._covered_tokens(row, leaf, begin, end)
        self._refuse_if_changed(row, new.snapshot, begin.first, end.last)
        if self._tx.row(_by_id, tree=row.tree, id=id) is not None:
            raise AlreadyExistsError(f"there is an overlay {id!r} in this tree already")
        first, last = pack_place(begin.first), pack_place(end.last)
        number = self._tx.add(
            "overlay",
            tree=row.tree,
            id=id,
            first=first,
            last=last,
            tokens=tokens,
            covered_tokens=covered,
            created_by=row.id,
            created_at=self._tx.now(),
            metadata=encode_json(new.metadata, "metadata"),
            summary=new.summary.encode(),
        )
        put_in_force(self._tx, row.number, first, last, number)
        self._renew(row, +1)
        return overlay_of(self._tx.row(_by_id, tree=row.tree, id=id))

    def in_force(self, owner: str, session: str) -> list[Overlay]:
        """List a session's overlays."""
        row = get_session(self._tx, owner, session)
        return [overlay_of(found) for found in self._tx.rows(_in_force, session=row.number)]

    def undo(self, owner: str, session: str, overlay: str) -> Overlay:
        """Take an overlay out of force."""
        row = get_session(self._tx, owner, session)
        found = self._find(row, overlay)
        if found is None:
            raise no_overlay(row.id, overlay)
        self._tx.run(_out_of_force, session=row.number, last=found[3], overlay=found[0])
        drop_unused(self._tx, [found[0]])
        self._renew(row, -1)
        return overlay_of(found)

    def _renew(self, row: SessionRow, added: int) -> None:
        counted = row.overlays + added
        self._tx.run(put_session, of_number=row.number, overlays=counted)
        renew_context(self._tx, row._replace(overlays=counted))

    def _find(self, row: SessionRow, id: str) -> Row:
        return self._tx.row(_find, session=row.number, tree=row.tree, id=id)

    def _refuse_if_lost(self, row: SessionRow, fence: Fence) -> None:
        version = self._tx.value(_fence, owner=row.owner, session=row.number, key=fence.key)
        if version != fence.version:
            raise LeaseLostError(
                f"the lease {fence.key!r} of session {row.id!r} was taken over, released or "
                "cleared: take it again and start over"
            )

    def _refuse_order(self, row: SessionRow, leaf: int, first: _End, last: _End) -> None:
        """Refuse ends in the wrong order; what is not shown has none, and is refused as such."""
        items = list(View(self._tx, row).visible(leaf))
        if all(any(end.is_in(item) for item in items) for end in (first, last)):
            raise UsageError("the first entry of the range comes after the last", path="first")

    def _end(self, row: SessionRow, ref: EntryRef) -> _End:
        """Find an entry that a range may begin or end with."""
        if ref.kind == "overlay":
            found = self._find(row, ref.id)
            if found is None:
                raise no_overlay(row.id, ref.id)
            return _End(found[0], place_of(found[2]), place_of(found[3]))
        seen = find_seen(self._tx, row, ref.id)
        if seen is None:
            raise no_message(row.id, ref.id)
        if not seen.is_live:
            raise ConflictError(f"message {ref.id!r} was deleted: choose one that is shown")
        return _End(None, place_of(seen.pos), place_of(seen.pos))

    def _covered_tokens(self, row: SessionRow, leaf: int, first: _End, last: _End) -> int:
        """Sum what is visible in a range; raise unless both its ends are visible entries."""
        total = 0
        for item in self._from(row, leaf, last):
            total += self._tokens_of(row, item, first)
            if first.is_in(item):
                return total
            if _top(item) <= first.first.depth:
                break
        raise ConflictError("an end of the range is not shown at this leaf: read the history again")

    def _from(self, row: SessionRow, leaf: int, last: _End) -> Iterator[Span | Cover]:
        """Give what is visible from the range's last entry upwards; nothing if it is not shown."""
        items = View(self._tx, row).visible(leaf)
        for item in items:
            if last.is_in(item):
                if isinstance(item, Span):
                    item = item._replace(last=last.last.depth)
                yield item
                yield from items

    def _tokens_of(self, row: SessionRow, item: Span | Cover, first: _End) -> int:
        if isinstance(item, Cover):
            tokens: int = self._tx.value(_overlay_tokens, number=item.number)
            return tokens
        if first.is_in(item):
            item = item._replace(first=first.first.depth)
        return self._tokens_between(row.tree, item)

    def _tokens_between(self, tree: int, span: Span) -> int:
        first, last = bounds(span)
        total = deltas_between(self._tx, tree, first, last)
        running, own, delta = self._tx.row(_sums_at, tree=tree, pos=first)
        # The first row's own share of the running sum is its tokens as they were when appended.
        return int(total + path_tokens(self._tx, tree, last) - running + own - (delta or 0))

    def _refuse_if_changed(
        self, row: SessionRow, snapshot: str | None, first: Place, last: Place
    ) -> None:
        if snapshot is None:
            return
        if not (snapshot.isascii() and snapshot.isdigit() and len(snapshot) <= 18):
            raise UsageError(f"{snapshot!r} is not a snapshot of this store", path="snapshot")
        for span in spans_up(last, self._tx.lineage):
            start, end = bounds(span._replace(first=max(span.first, min(first.depth, span.last))))
            args = {"tree": row.tree, "low": start, "high": end, "seq": int(snapshot)}
            if self._tx.row(_edited_since, **args) is not None:
                raise ConflictError(
                    "a message in the range was edited or deleted since it was read: read it again"
                )
            if span.first <= first.depth:
                return


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


def _top(item: Span | Cover) -> int:
    return item.first.depth if isinstance(item, Cover) else item.first


def put_in_force(tx: Tx, session: int, first: int, last: int, overlay: int) -> None:
    """Put an overlay in force for a session; of those with one end the widest comes last."""
    put_all_in_force(tx, session, [(first, last, overlay)])


def put_all_in_force(tx: Tx, session: int, overlays: Iterable[tuple[int, int, int]]) -> None:
    """Put overlays in force for a session, each given by its first and last position and number."""
    tx.add_all(
        "in_force",
        [
            {"session": session, "last": last, "width": -(first & MAX_DEPTH), "overlay": number}
            for first, last, number in overlays
        ],
    )


def drop_unused(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete those of the overlays that no session has in force."""
    for some in in_parts(numbers):
        tx.run(_drop_unused, numbers=some)


def _by_id(t: Tables) -> Any:
    o = t.overlay.c
    return select(*overlay_columns(t)).where(o.tree == bindparam("tree"), o.id == bindparam("id"))


def _joined(t: Tables) -> Any:
    return select(*overlay_columns(t)).select_from(
        t.overlay.join(t.in_force, t.in_force.c.overlay == t.overlay.c.number)
    )


def _in_force(t: Tables) -> Any:
    mine = t.in_force.c.session == bindparam("session")
    return _joined(t).where(mine).order_by(t.overlay.c.number)


def _find(t: Tables) -> Any:
    o = t.overlay.c
    return _joined(t).where(
        t.in_force.c.session == bindparam("session"),
        o.tree == bindparam("tree"),
        o.id == bindparam("id"),
    )


def _out_of_force(t: Tables) -> Any:
    f = t.in_force.c
    return delete(t.in_force).where(
        f.session == bindparam("session"),
        f.last == bindparam("last"),
        f.overlay == bindparam("overlay"),
    )


def _fence(t: Tables) -> Any:
    d = t.document.c
    return select(d.version).where(
        d.owner == bindparam("owner"),
        d.session == bindparam("session"),
        d.key == bindparam("key"),
    )


def _overlay_tokens(t: Tables) -> Any:
    return select(t.overlay.c.tokens).where(t.overlay.c.number == bindparam("number"))


def _sums_at(t: Tables) -> Any:
    m, e = t.message.c, t.edit.c
    joined = t.message.outerjoin(t.edit, and_(e.tree == m.tree, e.pos == m.pos))
    return (
        select(m.path_tokens, m.tokens, e.delta)
        .select_from(joined)
        .where(m.tree == bindparam("tree"), m.pos == bindparam("pos"))
    )


def _edited_since(t: Tables) -> Any:
    e = t.edit.c
    return (
        select(e.seq)
        .where(
            e.tree == bindparam("tree"),
            e.pos.between(bindparam("low"), bindparam("high")),
            e.seq > bindparam("seq"),
        )
        .limit(1)
    )


def _drop_unused(t: Tables) -> Any:
    used = exists().where(t.in_force.c.overlay == t.overlay.c.number)
    wanted = t.overlay.c.number.in_(bindparam("numbers", expanding=True))
    return delete(t.overlay).where(wanted, ~used)

"""Work on overlays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...errors import (
    AlreadyExistsError,
    ConflictError,
    LeaseLostError,
    NotFoundError,
    UsageError,
)
from ...model import EntryRef, Fence, NewOverlay, Overlay
from ...rules.codec import encode_json
from ...rules.overlay import Cover
from ...rules.tree import Place, Span, spans_up
from ..base.refusals import no_message
from ..relational.position import MAX_DEPTH, bounds, pack_place, unpack_place
from ..relational.rows import SessionRow
from .connection import Connection
from .feed import KIND_COVER, KIND_UNCOVER, record_change, record_removal
from .lookup import find_seen, get_pos, get_session
from .rows import OVERLAY_COLUMNS, overlay_as_found, overlay_of
from .sums import deltas_between, forget_shown_below, path_tokens, renew_context
from .view import View


class SqliteOverlays:
    """Work on overlays."""

    def __init__(self, tx: Connection) -> None:
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
        first, last = begin.first, end.last
        self._refuse_if_changed(new.snapshot, first, last)
        if self._tx.value("SELECT 1 FROM overlay WHERE tree = ? AND id = ?", (row.tree, id)):
            raise AlreadyExistsError(f"there is an overlay {id!r} in this tree already")
        number = self._tx.value(
            "INSERT INTO overlay (tree, id, first, last, tokens, covered_tokens, created_by,"
            " created_at, metadata, summary, checksum)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
            " checksum_of(?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)) RETURNING number",
            (
                row.tree,
                id,
                pack_place(first),
                pack_place(last),
                tokens,
                covered,
                row.id,
                self._tx.clock(),
                encode_json(new.metadata, "metadata"),
                new.summary,
            ),
        )
        put_in_force(self._tx, row.number, pack_place(last), first.depth, number)
        record_change(self._tx, row, KIND_COVER, number, number, self._tx.clock())
        self._renew(row, +1, pack_place(last))
        return get_overlay(self._tx, number)

    def in_force(self, owner: str, session: str) -> list[Overlay]:
        """List a session's overlays."""
        row = get_session(self._tx, owner, session)
        rows = self._tx.rows(
            f"SELECT {OVERLAY_COLUMNS} FROM in_force f JOIN overlay o ON o.number = f.overlay"
            " WHERE f.session = ? ORDER BY o.number",
            (row.number,),
        )
        return [overlay_of(found) for found in rows]

    def undo(self, owner: str, session: str, overlay: str) -> Overlay:
        """Take an overlay out of force, also one that is damaged: what it covers is not."""
        row = get_session(self._tx, owner, session)
        found = self._find(row, overlay)
        if found is None:
            raise _no_overlay(row, overlay)
        last, number, *_ = found
        self._tx.run(
            "DELETE FROM in_force WHERE session = ? AND last = ? AND overlay = ?",
            (row.number, last, number),
        )
        drop_unused_overlays(self._tx, [number])
        self._renew(row, -1, last)
        return overlay_as_found(found[1:])

    def _renew(self, row: SessionRow, added: int, last: int) -> None:
        forget_shown_below(self._tx, row.number, last)
        self._tx.run(
            "UPDATE session SET overlays = overlays + ? WHERE number = ?", (added, row.number)
        )
        renew_context(self._tx, row._replace(overlays=row.overlays + added))

    def _find(self, row: SessionRow, id: str) -> Any:
        """Find an overlay in force: where it is, then its row."""
        return self._tx.row(
            f"SELECT f.last, {OVERLAY_COLUMNS} FROM overlay o JOIN in_force f"
            " ON f.overlay = o.number AND f.session = ? WHERE o.tree = ? AND o.id = ?",
            (row.number, row.tree, id),
        )

    def _refuse_if_lost(self, row: SessionRow, fence: Fence) -> None:
        version = self._tx.value(
            "SELECT version FROM document WHERE owner = ? AND session = ? AND key = ?",
            (row.owner, row.number, fence.key),
        )
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
                raise _no_overlay(row, ref.id)
            last, number, _, first, *_ = found
            return _End(number, _at(first), _at(last))
        seen = find_seen(self._tx, row, ref.id)
        if seen is None:
            raise no_message(row.id, ref.id)
        if not seen.is_live:
            raise ConflictError(f"message {ref.id!r} was deleted: choose one that is shown")
        return _End(None, _at(seen.pos), _at(seen.pos))

    def _covered_tokens(self, row: SessionRow, leaf: int, first: _End, last: _End) -> int:
        """Sum what is visible in a range; raise unless both its ends are visible entries."""
        total = 0
        for item in self._from(row, leaf, last):
            total += self._tokens_of(item, first)
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

    def _tokens_of(self, item: Span | Cover, first: _End) -> int:
        if isinstance(item, Cover):
            tokens: int = self._tx.value(
                "SELECT tokens FROM overlay WHERE number = ?", (item.number,)
            )
            return tokens
        if first.is_in(item):
            item = item._replace(first=first.first.depth)
        return self._tokens_between(item)

    def _tokens_between(self, span: Span) -> int:
        first, last = bounds(span)
        total = deltas_between(self._tx, first, last)
        running: int
        own: int
        running, own = self._tx.row(
            "SELECT path_tokens, tokens FROM message WHERE pos = ?", (first,)
        )
        delta_of_first: int = self._tx.value("SELECT delta FROM edit WHERE pos = ?", (first,)) or 0
        # The first row's own share of the running sum is its tokens as they were when appended.
        return total + path_tokens(self._tx, last) - running + own - delta_of_first

    def _refuse_if_changed(self, snapshot: str | None, first: Place, last: Place) -> None:
        if snapshot is None:
            return
        if not (snapshot.isascii() and snapshot.isdigit() and len(snapshot) <= 18):
            raise UsageError(f"{snapshot!r} is not a snapshot of this store", path="snapshot")
        for span in spans_up(last, self._tx.lineage):
            start, end = bounds(span._replace(first=max(span.first, min(first.depth, span.last))))
            if self._tx.value(
                "SELECT 1 FROM edit WHERE pos BETWEEN ? AND ? AND seq > ?",
                (start, end, int(snapshot)),
            ):
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


def _at(pos: int) -> Place:
    place = unpack_place(pos)
    assert place is not None
    return place


def _no_overlay(row: SessionRow, id: str) -> NotFoundError:
    return NotFoundError(
        f"no overlay {id!r} is in force for session {row.id!r}", kind="overlay", id=id
    )


def get_overlay(tx: Connection, number: int) -> Overlay:
    """Get an overlay by its number."""
    return overlay_of(
        tx.row(f"SELECT {OVERLAY_COLUMNS} FROM overlay o WHERE number = ?", (number,))
    )


def put_in_force(tx: Connection, session: int, last: int, first_depth: int, overlay: int) -> None:
    """Put an overlay in force for a session."""
    tx.run(
        "INSERT INTO in_force (session, last, first_depth, overlay) VALUES (?, ?, ?, ?)",
        (session, last, first_depth & MAX_DEPTH, overlay),
    )


def drop_unused_overlays(tx: Connection, numbers: list[int]) -> None:
    """Delete those of the overlays that no session has in force."""
    for number in numbers:
        is_gone = tx.value(
            "DELETE FROM overlay WHERE number = ?1"
            " AND NOT EXISTS (SELECT 1 FROM in_force WHERE overlay = ?1) RETURNING 1",
            (number,),
        )
        if is_gone:
            record_removal(tx, KIND_UNCOVER, number, number)

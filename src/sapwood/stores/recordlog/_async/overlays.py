"""Work on overlays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ....model import EntryRef, Fence, NewOverlay, Overlay
from ....rules.codec import encode_json
from ....rules.tree import Place, Span, clip, spans_up
from ...base.refusals import (
    bad_snapshot,
    changed_since,
    message_deleted,
    no_overlay,
    not_shown,
    overlay_exists,
    range_order,
)
from ..extras import refuse_closed, refuse_lost
from ..state import LaidOverlay, LogState
from ..view import LogView, ViewPiece
from ..work import AddOverlay, UndoOverlay, log_of, to_wire
from .descendants import descendants
from .history import made_overlay, overlays_of
from .logs import AsyncLogs, AsyncLogSubject, Decision
from .rows import get_place, get_row


class _RangeEnd(NamedTuple):
    """An entry at an end of a range: its positions, and the tokens above it and down to its end."""

    first: Place
    last: Place
    above: int
    base: int


class AsyncLogOverlays(AsyncLogSubject):
    async def add(
        self,
        owner: str,
        session: str,
        new: NewOverlay,
        id: str,
        tokens: int,
        fences: Sequence[Fence],
    ) -> Overlay:
        """Put an overlay over a range."""

        async def decide(state: LogState) -> Decision[AddOverlay]:
            refuse_lost(state, fences)
            refuse_closed(state)
            view = await self._logs.view(state)
            leaf = state.tip
            if new.leaf is not None:
                leaf = (await get_place(self._logs, state, new.leaf)).place
            pieces = view.resolve(leaf)
            begin = await self._end(view, pieces, new.first)
            end = await self._end(view, pieces, new.last)
            if begin.first.depth > end.last.depth:
                raise range_order()
            if new.id is not None:
                await self._refuse_taken(view, id)
            if new.snapshot is not None:
                refuse_changed(self._logs, view, begin.first.depth, end.last, new.snapshot)
            work = AddOverlay(
                id=id,
                first=to_wire(begin.first, state.log),
                last=to_wire(end.last, state.log),
                above=begin.above,
                base=end.base,
                tokens=tokens,
                covered=_covered(view, pieces, begin, end),
                stamp=await self._logs.stamp(),
                created_by=session,
                created_us=await self._logs.now(),
                metadata=encode_json(new.metadata, "metadata"),
                summary=new.summary,
            )
            return work, work

        state, work = await self._logs.change(owner, session, decide)
        return made_overlay(state.overlays[-1], work)

    async def in_force(self, owner: str, session: str) -> list[Overlay]:
        return await self._logs.look(
            owner, session, lambda view: overlays_of(self._logs, view.own, view.own.overlays)
        )

    async def undo(
        self, owner: str, session: str, overlay: str, fences: Sequence[Fence]
    ) -> Overlay:
        async def decide(state: LogState) -> Decision[Overlay]:
            refuse_lost(state, fences)
            refuse_closed(state)
            laid = _get_laid(state, overlay)
            [told] = await overlays_of(self._logs, state, [laid])
            return UndoOverlay(laid.stamp), told

        _, told = await self._logs.change(owner, session, decide)
        return told

    async def _end(self, view: LogView, pieces: Sequence[ViewPiece], ref: EntryRef) -> _RangeEnd:
        """Find a visible entry that a range begins or ends with."""
        if ref.kind == "overlay":
            laid = _get_laid(view.own, ref.id)
            if laid in pieces:
                return _RangeEnd(laid.first, laid.last, laid.above, laid.base)
        else:
            row = await get_row(self._logs, view, ref.id)
            if row.body is None:
                raise message_deleted(ref.id)
            if _is_visible(pieces, row.place):
                return _RangeEnd(row.place, row.place, row.base - row.original, row.base)
        raise not_shown(ref)

    async def _refuse_taken(self, view: LogView, id: str) -> None:
        """Refuse an id that is in force in any session of the tree."""
        # A tree is named after the log that it began with.
        root = await self._logs.load(view.own.tree, view.own.tree) or view.own
        [root] = await self._logs.catch_up([root])
        for state in (view.own, root, *await descendants(self._logs, root)):
            if any(laid.id == id for laid in state.overlays):
                raise overlay_exists(id)


def _get_laid(state: LogState, id: str) -> LaidOverlay:
    for laid in state.overlays:
        if laid.id == id:
            return laid
    raise no_overlay(state.session, id)


def _is_visible(pieces: Sequence[ViewPiece], place: Place) -> bool:
    return any(
        isinstance(it, Span) and it.segment == place.segment and it.first <= place.depth <= it.last
        for it in pieces
    )


def refuse_changed(
    logs: AsyncLogs, view: LogView, first: int, last: Place | None, snapshot: str
) -> None:
    """Refuse what was made from a snapshot when something from a depth on changed since."""
    read = _read_snapshot(view, snapshot)
    if any(logs.driver.is_taken_back(log, n) for log, n in read.items()):
        raise changed_since()
    if last is not None:
        _refuse_edited(view, first, last, read)


def _refuse_edited(view: LogView, first: int, last: Place, read: Mapping[str, int]) -> None:
    """Refuse a range of which a message was edited since it was read, hidden ones included."""
    for whole in spans_up(last, view.lineage_of):
        span = clip(whole, first - 1, None)
        if span is None:
            break
        known = read[log_of(span.segment)]
        for depth, edited in view.edits_in(span):
            place, at = Place(span.segment, depth), edited.changed_by
            if place in view.own.foreign:
                # A snapshot knows what was erased through this session when it is erased there.
                there = view.edited_there(place)
                at = there.n if there is not None and there.is_erased else known + 1
            if at > known:
                raise changed_since()


def _read_snapshot(view: LogView, snapshot: str) -> dict[str, int]:
    parts = snapshot.split(".")
    logs = [view.own.log, *(log for log, _ in view.own.homes)]
    is_ours = all(part.isascii() and part.isdigit() and len(part) <= 18 for part in parts)
    if not is_ours or len(parts) != len(logs):
        raise bad_snapshot(snapshot)
    return dict(zip(logs, map(int, parts), strict=True))


def _covered(view: LogView, pieces: Sequence[ViewPiece], begin: _RangeEnd, end: _RangeEnd) -> int:
    """Sum what was visible in a range, without pins. Both ends are ends of visible entries."""
    total = end.base - begin.above
    for piece in pieces:
        if isinstance(piece, Span):
            span = clip(piece, begin.first.depth - 1, end.last.depth + 1)
            if span is not None:
                total += sum(edited.delta for _, edited in view.edits_in(span))
        elif begin.first.depth <= piece.last.depth <= end.last.depth:
            total += piece.tokens - (piece.base - piece.above)
    return total

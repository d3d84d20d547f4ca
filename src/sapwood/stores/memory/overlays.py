"""Work on overlays: putting one over a range, and taking it away again."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from operator import attrgetter

from ...errors import (
    AlreadyExistsError,
    ConflictError,
    LeaseLostError,
    NotFoundError,
    UsageError,
)
from ...model import EntryRef, Fence, NewOverlay, Overlay
from ...rules.codec import encode_json
from ...rules.overlay import clip
from ...rules.tree import Place, Span, spans_up
from ..base._sync.unit import Overlays
from .lookup import get_place, get_session, lineage_of, row_at, span_tokens
from .state import OverlayRow, SessionRow, State, is_number
from .view import Piece, Shown, overlay_of, resolve, settle_sum

_rank = attrgetter("rank")


class MemoryOverlays(Overlays):
    """Work on overlays."""

    def __init__(self, state: State) -> None:
        self._state = state

    def add(
        self, owner: str, session: str, new: NewOverlay, id: str, tokens: int, fence: Fence | None
    ) -> Overlay:
        state = self._state
        row = get_session(state, owner, session)
        _check_fence(row, fence)
        leaf = row.tip if new.leaf is None else get_place(state, row, new.leaf)
        pieces = resolve(state, row, leaf)
        first, _ = _ends_of(state, row, pieces, new.first)
        _, last = _ends_of(state, row, pieces, new.last)
        _check_range(state, row, id, first, last, new.snapshot)
        overlay = OverlayRow(
            number=state.next_number(),
            id=id,
            first=first,
            last=last,
            summary=new.summary,
            tokens=tokens,
            covered_tokens=_covered_tokens(state, pieces, first, last),
            metadata=encode_json(new.metadata, "metadata"),
            created_by=session,
            created_us=state.clock(),
        )
        put_in_force(row, overlay)
        settle_sum(state, row)
        return overlay_of(overlay)

    def in_force(self, owner: str, session: str) -> list[Overlay]:
        rows = get_session(self._state, owner, session).overlays.values()
        return [overlay_of(row) for row in rows]

    def undo(self, owner: str, session: str, overlay: str) -> Overlay:
        row = get_session(self._state, owner, session)
        found = _get_overlay(row, overlay)
        del row.overlays[found.number]
        row.ends[found.last.segment].remove(found)
        settle_sum(self._state, row)
        return overlay_of(found)


def put_in_force(session: SessionRow, overlay: OverlayRow) -> None:
    """Put an overlay in force for a session; newer ones come after older ones."""
    session.overlays[overlay.number] = overlay
    insort(session.ends.setdefault(overlay.last.segment, []), overlay, key=_rank)


def _get_overlay(session: SessionRow, id: str) -> OverlayRow:
    for row in session.overlays.values():
        if row.id == id:
            return row
    raise NotFoundError(
        f"no overlay {id!r} is in force for session {session.id!r}", kind="overlay", id=id
    )


def _check_fence(session: SessionRow, fence: Fence | None) -> None:
    if fence is None:
        return
    document = session.documents.get(fence.key)
    if document is None or document.version != fence.version:
        raise LeaseLostError(
            f"the lease {fence.key!r} was taken over, released or cleared: "
            "nothing was written; begin again"
        )


def _ends_of(
    state: State, session: SessionRow, pieces: Sequence[Piece], ref: EntryRef
) -> tuple[Place, Place]:
    """Give the first and last position that a visible entry covers."""
    if ref.kind == "overlay":
        overlay = _get_overlay(session, ref.id)
        if any(isinstance(piece, Shown) and piece.overlay is overlay for piece in pieces):
            return overlay.first, overlay.last
    else:
        place = get_place(state, session, ref.id)
        if place is not None and _is_visible(state, pieces, place):
            return place, place
    raise ConflictError(
        f"{ref.kind} {ref.id!r} is not visible at the leaf: read the history again, then decide"
    )


def _is_visible(state: State, pieces: Sequence[Piece], place: Place) -> bool:
    return row_at(state, place).body is not None and any(
        isinstance(piece, Span)
        and piece.segment == place.segment
        and piece.first <= place.depth <= piece.last
        for piece in pieces
    )


def _check_range(
    state: State, session: SessionRow, id: str, first: Place, last: Place, snapshot: str | None
) -> None:
    if first.depth > last.depth:
        raise UsageError("the first entry comes after the last one: swap them", path="first")
    for home in state.trees[session.tree].homes:
        if any(row.id == id for row in state.homes[home].overlays.values()):
            raise AlreadyExistsError(f"overlay {id!r} exists already: choose another id")
    if snapshot is not None and _has_changed(state, first, last, _read_snapshot(snapshot)):
        raise ConflictError(
            "a message of the range was edited or deleted since the snapshot: "
            "read the history again and make a new summary"
        )


def _has_changed(state: State, first: Place, last: Place, since: int) -> bool:
    return state.is_taken_back(since) or _latest_edit(state, first, last) > since


def _read_snapshot(snapshot: str) -> int:
    if not (isinstance(snapshot, str) and is_number(snapshot)):
        raise UsageError(f"{snapshot!r} is not a history's snapshot", path="snapshot")
    return int(snapshot)


def _latest_edit(state: State, first: Place, last: Place) -> int:
    """Give the number of the latest edit or deletion in a range, hidden messages included."""
    latest = 0
    for whole in spans_up(last, lambda segment: lineage_of(state, segment)):
        span = clip(whole, first.depth - 1, None)
        if span is None:
            break
        for depth, change in state.segments[span.segment].edits.items():
            if span.first <= depth <= span.last:
                latest = max(latest, change)
    return latest


def _covered_tokens(state: State, pieces: Sequence[Piece], first: Place, last: Place) -> int:
    """Sum what was visible in a range, without pins. Both ends are ends of visible entries."""
    total = 0
    for piece in pieces:
        if isinstance(piece, Span):
            span = clip(piece, first.depth - 1, last.depth + 1)
            total += 0 if span is None else span_tokens(state, span)
        elif first.depth <= piece.overlay.last.depth <= last.depth:
            total += piece.overlay.tokens
    return total

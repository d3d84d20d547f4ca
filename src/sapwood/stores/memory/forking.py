"""Forking: a session that goes on from another one's message, in its tree or in one of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model import ChangeKind
from ...rules.tree import Place, spans_up
from .documents import copy_documents
from .feed import new_change
from .lookup import lineage_of, on_path, rows_in
from .overlays import put_in_force
from .state import OverlayRow, SessionRow, State
from .view import settle_sum
from .writing import put_rows, segment_after


def fork(state: State, session: SessionRow, source: SessionRow, place: Place | None) -> None:
    """Let a new session in its source's tree go on from a position."""
    session.tip = session.fork = place
    spans = spans_up(place, lambda segment: lineage_of(state, segment))
    session.inherited = tuple({state.segments[span.segment].home: None for span in spans})
    for overlay in _on_path(state, source, place):
        put_in_force(session, overlay)
    session.documents = copy_documents(state, source)
    settle_sum(state, session)


def detach(state: State, session: SessionRow, source: SessionRow, place: Place | None) -> None:
    """Let a new session in a tree of its own go on from a copy of a path."""
    if place is not None:
        _copy_path(state, session, place)
        for overlay in _on_path(state, source, place):
            put_in_force(session, _copy_overlay(state, overlay, session.segments[0]))
    session.documents = copy_documents(state, source)
    settle_sum(state, session)


def _on_path(state: State, source: SessionRow, leaf: Place | None) -> Sequence[OverlayRow]:
    return [row for row in source.overlays.values() if on_path(state, row.last, leaf)]


def _copy_path(state: State, session: SessionRow, leaf: Place) -> None:
    spans = list(spans_up(leaf, lambda segment: lineage_of(state, segment)))
    rows = [row for span in reversed(spans) for _, row in rows_in(state, span)]
    changes = [
        new_change(state, session, ChangeKind.APPEND, session.created_us, row.id, depth)
        for depth, row in enumerate(rows, 1)
        if row.body is not None
    ]
    put_rows(state, session, segment_after(state, session, None), rows, changes)


def _copy_overlay(state: State, overlay: OverlayRow, segment: int) -> OverlayRow:
    # A detached path is one segment, in which every position keeps its depth.
    return replace(
        overlay,
        number=state.next_number(),
        first=Place(segment, overlay.first.depth),
        last=Place(segment, overlay.last.depth),
    )

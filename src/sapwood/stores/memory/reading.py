"""Reading a path as it is shown, within limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from ...model import Entry, Gap, History, Leaf, Message, Read, Summary
from ...rules.overlay import clip
from ...rules.tree import Place, Span, spans_after, spans_up
from .lookup import (
    following,
    get_place,
    home_of,
    id_at,
    lineage_of,
    message_at,
    position,
    row_at,
    rows_in,
)
from .state import SessionRow, State
from .view import Piece, Shown, context_tokens, overlay_of, resolve, tokens_of


class _Sized(NamedTuple):
    """What an entry is made from, and its stored size."""

    source: Place | Shown
    size: int


def read(state: State, session: SessionRow, query: Read) -> History:
    """Read a path as it is shown to a session."""
    leaf = session.tip if query.leaf is None else get_place(state, session, query.leaf)
    pieces: Iterable[Piece]
    if query.overlays and session.overlays:
        pieces = shown = resolve(state, session, leaf, strict=True)
        context = tokens_of(state, shown)
    else:
        # Not all of them at once: the last few messages need only the last few segments.
        pieces = spans_up(leaf, lambda segment: lineage_of(state, segment))
        context = context_tokens(state, session, leaf)
    taken, more = _take(_window(state, pieces, query), query)
    return History(
        entries=[_entry(state, sized.source) for sized in taken],
        leaf=id_at(state, leaf),
        tip=id_at(state, session.tip),
        context_tokens=context,
        more=more,
        bytes=sum(sized.size for sized in taken),
        snapshot=str(state.counter),
    )


def _window(state: State, pieces: Iterable[Piece], query: Read) -> Iterator[_Sized]:
    """Give the entries between the bounds, in the order in which limits count them."""
    for piece in pieces if query.backwards else reversed(list(pieces)):
        if isinstance(piece, Shown):
            if _is_within(piece, query):
                yield _Sized(piece, _size(state, piece))
            continue
        span = clip(piece, query.after, query.before)
        if span is not None:
            yield from _live(state, span, query.backwards)


def _is_within(shown: Shown, query: Read) -> bool:
    first, last = shown.overlay.first.depth, shown.overlay.last.depth
    return last > query.after and (query.before is None or first < query.before)


def _live(state: State, span: Span, backwards: bool) -> Iterator[_Sized]:
    for place, row in rows_in(state, span, backwards=backwards):
        if row.body is not None:
            yield _Sized(place, len(row.body))


def _size(state: State, shown: Shown) -> int:
    bodies = (row_at(state, place).body or b"" for place in shown.pinned)
    return len(shown.overlay.summary.encode()) + sum(len(body) for body in bodies)


def _take(entries: Iterable[_Sized], query: Read) -> tuple[list[_Sized], bool]:
    """Take entries up to the limits, in path order, and tell whether there were more."""
    taken: list[_Sized] = []
    size, more = 0, False
    for entry in entries:
        size += entry.size
        too_many = query.limit is not None and len(taken) >= query.limit
        too_large = query.max_bytes is not None and size > query.max_bytes
        if too_many or (too_large and taken):
            more = True
            break
        taken.append(entry)
    if query.backwards:
        taken.reverse()
    return taken, more


def _entry(state: State, source: Place | Shown) -> Entry:
    if isinstance(source, Place):
        return cast(Message, message_at(state, source))
    pinned = [cast(Message, message_at(state, place)) for place in source.pinned]
    return Summary(overlay=overlay_of(source.overlay), pinned=pinned)


def gaps(state: State, session: SessionRow, leaf: str, after: int) -> list[Gap]:
    """List the positions on the path to a leaf whose message was deleted."""
    place = get_place(state, session, leaf)
    spans = spans_after(after, place, lambda segment: lineage_of(state, segment))
    return [
        Gap(id=row.id, position=position(place), home=home_of(state, span.segment))
        for span in spans
        for place, row in rows_in(state, span)
        if row.body is None
    ]


def leaves(state: State, session: SessionRow) -> list[Leaf]:
    """List the positions a session sees that nothing it sees follows."""
    ends = {Place(number, state.segments[number].last) for number in session.segments}
    if session.fork is not None:
        ends.add(session.fork)
    return [
        Leaf(
            id=row_at(state, place).id,
            position=position(place),
            message=message_at(state, place),
        )
        for place in sorted(ends)
        if not following(state, session, place)
    ]

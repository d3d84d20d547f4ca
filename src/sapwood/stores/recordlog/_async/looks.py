"""Looks across a session's branches, and across an owner's sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....model import ROOT, Message, MessagePage, Position, Root
from ....rules.tree import Place, Span
from ...base.refusals import no_position
from ..rows import message_of
from ..view import LogView
from ..work import segment_name
from .descendants import segments_of, whole_segment
from .logs import AsyncLogs
from .rows import MOST_IN_A_PAGE, find_places, find_places_in, rows_in_all


async def find_parents(
    logs: AsyncLogs, view: LogView, ids: Sequence[str]
) -> list[str | Root | None]:
    """Find what messages follow, deleted or not."""
    spots = await find_places(logs, view.own, ids)
    above = {id: view.before(it.place) for id, it in spots.items()}
    places = sorted({it for it in above.values() if it is not None})
    spans = [Span(it.segment, it.depth, it.depth) for it in places]
    rows = await rows_in_all(logs, view, spans) if spans else []
    names: dict[Place | None, str | Root] = {row.place: row.id for row in rows}
    names[None] = ROOT
    return [names[above[id]] if id in above else None for id in ids]


async def find_homes(logs: AsyncLogs, views: Sequence[LogView], message: str) -> list[str]:
    """Find those of sessions that wrote a live message, with one look for all of them."""
    if not views:
        return []
    found = await find_places_in(logs, [(it.own, [message]) for it in views])
    return [
        view.own.session
        for view, spots in zip(views, found, strict=True)
        for it in spots.values()
        if view.is_own(it.place.segment) and not is_empty(view, it.place)
    ]


def is_empty(view: LogView, place: Place) -> bool:
    """Whether no message stands at a position: it is a mark, or the message was deleted."""
    edited = view.edited(place)
    return view.is_mark(place) or (edited is not None and edited.is_erased)


async def list_messages(
    logs: AsyncLogs, view: LogView, after: Position | None, limit: int
) -> MessagePage:
    """List a page of what a session sees, after a position."""
    found: list[Message] = []
    for spans in _portions(_spans_after(view, after), min(limit + 1, MOST_IN_A_PAGE)):
        rows = await rows_in_all(logs, view, spans)
        found += [message_of(row, view) for row in rows if row.body is not None]
        if len(found) > limit:
            break
    return MessagePage(messages=found[:limit], more=len(found) > limit)


def _spans_after(view: LogView, after: Position | None) -> list[Span]:
    """Return what a session sees after a position, which it has to see."""
    own = view.own
    spans = list(view.spans(own.fork))[::-1]
    spans += [whole_segment(own, number) for number in segments_of(own)]
    if after is None:
        return spans
    for index, span in enumerate(spans):
        is_in = segment_name(span.segment) == after.segment
        if is_in and span.first <= after.depth <= span.last:
            cut = [span._replace(first=after.depth + 1)] if after.depth < span.last else []
            return cut + spans[index + 1 :]
    raise no_position(own.session, after)


def _portions(spans: Sequence[Span], size: int) -> Iterator[list[Span]]:
    """Yield spans so that there are up to so many positions at a time, in many or in one."""
    portion: list[Span] = []
    room = size
    for span in spans:
        first = span.first
        while first <= span.last:
            last = min(span.last, first + room - 1)
            portion.append(span._replace(first=first, last=last))
            room -= last - first + 1
            first = last + 1
            if not room:
                yield portion
                portion, room = [], size
    if portion:
        yield portion


def following(view: LogView, place: Place | None) -> list[Place]:
    """Return the positions that a session sees right after a position, in order."""
    own = view.own
    depth = 1 if place is None else place.depth + 1
    found = {
        Place(own.own(number), depth)
        for number in segments_of(own)
        if own.segments[number - 1].parent == place
    }
    if place is not None and depth <= view.segment(place.segment).last:
        found.add(Place(place.segment, depth))
    for span in view.spans(own.fork):
        at = Place(span.segment, depth)
        if span.first <= depth <= span.last and view.before(at) == place:
            found.add(at)
    return sorted(it for it in found if view.sees(it))


def after_marks(view: LogView, place: Place | None) -> list[Place]:
    """Return the positions that follow a position, or marks that do, in order."""
    found: list[Place] = []
    left = following(view, place)
    while left:
        at = left.pop()
        if view.is_mark(at):
            left += following(view, at)
        else:
            found.append(at)
    return sorted(found)


def ends(view: LogView) -> list[Place]:
    """Return the ends of a session's branches, in order."""
    own = view.own
    numbers = segments_of(own)
    ends = {Place(own.own(number), own.segments[number - 1].last) for number in numbers}
    if own.fork is not None:
        ends.add(own.fork)
    followed = {own.segments[number - 1].parent for number in numbers}
    return sorted(ends - followed)

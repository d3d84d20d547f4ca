"""Reading messages: by where they stand, by range, and by id."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from ....errors import StoreCorruptError
from ....rules.tree import Place, Span
from ..lookup import spotted_by
from ..place import log_of, segment_name
from ..rows import Row, edited_by, erased, is_inside, rows_of
from ..state import Edited, Spotted, State
from ..stored import Key, Stored, id_key, record_key
from ..told import BehindError, no_message
from ..view import View
from .desk import AsyncDesk

FIRST_PAGE = 16
MOST_IN_A_PAGE = 256
MOST_RANGES = 50


async def find_spots(desk: AsyncDesk, state: State, ids: Iterable[str]) -> dict[str, Spotted]:
    """Find where messages stand that a session sees, deleted or not: one probe for each home."""
    found = {id: state.recent[id] for id in ids if id in state.recent}
    unknown = [id for id in dict.fromkeys(ids) if id not in found]
    if not unknown:
        return found
    homes = [(state.log, state.epoch), *(state.homes if state.fork else [])]
    asked = [(id, log, epoch) for id in unknown for log, epoch in homes]
    keys = [id_key(state.tree, log, epoch, id) for id, log, epoch in asked]
    inherited: dict[str, list[Spotted]] = {}
    for (id, log, _), stored in zip(asked, await desk.log.get(keys), strict=True):
        if stored is None:
            continue
        spotted = spotted_by(stored, log)
        if log != state.log:
            inherited.setdefault(id, []).append(spotted)
        elif spotted.n > state.n:
            raise BehindError
        else:
            found[id] = spotted
    if any(id not in found for id in inherited):
        view = await desk.view(state)
        for id, spots in inherited.items():
            for spotted in spots:
                if id not in found and view.on_path(spotted.place, state.fork):
                    found[id] = spotted
    return found


async def get_spot(desk: AsyncDesk, state: State, id: str) -> Spotted:
    """Get where a message stands that a session sees."""
    found = await find_spots(desk, state, [id])
    if id not in found:
        raise no_message(state.session, id)
    return found[id]


async def rows_at(desk: AsyncDesk, view: View, spots: Sequence[Spotted]) -> dict[Place, Row]:
    """Read messages, deleted or not, by the records that appended them."""
    if not spots:
        return {}
    keys = [_record_at(view, spotted) for spotted in spots]
    rows = []
    for spotted, stored in zip(spots, await desk.log.get(keys), strict=True):
        if stored is None:
            raise StoreCorruptError(f"the record of the message at {spotted.place} is missing")
        every = rows_of(stored, spotted.place.segment)
        rows.append(next(row for row in every if row.place == spotted.place))
    return {row.place: row for row in await _as_edited(desk, view, rows)}


def _record_at(view: View, spotted: Spotted) -> Key:
    return record_key(view.own.tree, log_of(spotted.place.segment), spotted.n)


async def row_at(desk: AsyncDesk, view: View, place: Place) -> Row:
    """Read the message at a position."""
    [row] = await rows_in(desk, view, Span(place.segment, place.depth, place.depth))
    return row


async def rows_in(
    desk: AsyncDesk,
    view: View,
    span: Span,
    *,
    backwards: bool = False,
    limit: int | None = None,
) -> list[Row]:
    """Read the messages of a span, deleted ones too; at least `limit`, if there are as many."""
    records = await desk.log.span(
        view.own.tree,
        segment_name(span.segment),
        span.first,
        span.last,
        backwards=backwards,
        limit=limit,
    )
    found = _rows_inside(records, [span])
    wanted = span.last - span.first + 1
    if limit is not None:
        wanted = min(wanted, max(limit, len(found)))
    if backwards:
        span = Span(span.segment, span.last - wanted + 1, span.last)
    else:
        span = Span(span.segment, span.first, span.first + wanted - 1)
    rows = await _complete(desk, view, [span], found)
    if backwards:
        rows.reverse()
    return await _as_edited(desk, view, rows)


async def rows_in_all(desk: AsyncDesk, view: View, spans: Sequence[Span]) -> list[Row]:
    """Read the messages of several spans, in their order."""
    if len(spans) == 1:
        return await rows_in(desk, view, spans[0])
    rows: list[Row] = []
    for start in range(0, len(spans), MOST_RANGES):
        some = spans[start : start + MOST_RANGES]
        ranges = [(segment_name(it.segment), it.first, it.last) for it in some]
        records = await desk.log.spans(view.own.tree, ranges)
        rows += await _complete(desk, view, some, _rows_inside(records, some))
    return await _as_edited(desk, view, rows)


def _rows_inside(records: Iterable[Stored], spans: Sequence[Span]) -> dict[Place, Row]:
    by_name: dict[str, list[Span]] = {}
    for span in spans:
        by_name.setdefault(segment_name(span.segment), []).append(span)
    rows: dict[Place, Row] = {}
    for stored in records:
        ranges = by_name[stored.segment]
        for row in rows_of(stored, ranges[0].segment):
            if any(is_inside(row.place, span) for span in ranges):
                rows[row.place] = row
    return rows


async def _complete(
    desk: AsyncDesk, view: View, spans: Sequence[Span], rows: dict[Place, Row]
) -> list[Row]:
    """Give the rows in the order of their spans; what a question did not see is got by name."""
    places = [
        Place(span.segment, depth) for span in spans for depth in range(span.first, span.last + 1)
    ]
    missing = [place for place in places if place not in rows]
    if missing:
        rows = rows | await _by_name(desk, view, missing)
        missing = [place for place in missing if place not in rows]
    if missing:
        await desk.log.refresh()
        ranges = [(segment_name(it.segment), it.first, it.last) for it in spans]
        rows = rows | _rows_inside(await desk.log.spans(view.own.tree, ranges), spans)
        missing = [place for place in missing if place not in rows]
    if missing:
        raise StoreCorruptError(
            f"the message at depth {missing[0].depth} of segment"
            f" {segment_name(missing[0].segment)} is missing"
        )
    return [rows[place] for place in places]


async def _by_name(desk: AsyncDesk, view: View, missing: Sequence[Place]) -> dict[Place, Row]:
    wanted = set(missing)
    spots = [
        spotted
        for log in {log_of(place.segment) for place in missing}
        for spotted in view.states[log].recent.values()
        if spotted.place in wanted
    ]
    records = await desk.log.get([_record_at(view, it) for it in spots]) if spots else []
    return {
        row.place: row
        for spotted, stored in zip(spots, records, strict=True)
        if stored is not None
        for row in rows_of(stored, spotted.place.segment)
        if row.place in wanted
    }


async def _as_edited(desk: AsyncDesk, view: View, rows: Sequence[Row]) -> list[Row]:
    """Give messages as they are now; begin again when a record was cleared up since."""
    changes: dict[Place, Edited] = {}
    for row in rows:
        edited = view.edited(row.place)
        if edited is not None:
            changes[row.place] = edited
        elif row.body is None:
            raise BehindError
    live = [(place, it) for place, it in changes.items() if not it.is_erased]
    keys = [record_key(view.own.tree, log_of(place.segment), it.n) for place, it in live]
    found = await desk.log.get(keys) if keys else []
    edits = {place: stored for (place, _), stored in zip(live, found, strict=True)}
    return [_as_is(row, changes.get(row.place), edits.get(row.place)) for row in rows]


def _as_is(row: Row, edited: Edited | None, stored: Stored | None) -> Row:
    if edited is None:
        return row
    if edited.is_erased:
        return erased(row)
    made = edited_by(row, stored, edited)
    if made is None:
        raise BehindError
    return made


async def stream(
    desk: AsyncDesk,
    view: View,
    spans: Sequence[Span],
    *,
    backwards: bool,
    page: int | None,
) -> AsyncIterator[list[Row]]:
    """Read the messages of spans, in that order; all at once, or beginning with so many."""
    if page is None:
        if spans:
            ordered = [*reversed(spans)] if backwards else spans
            rows = await rows_in_all(desk, view, ordered)
            yield rows[::-1] if backwards else rows
        return
    for whole in spans:
        span: Span | None = whole
        while span is not None:
            rows = await rows_in(desk, view, span, backwards=backwards, limit=page)
            yield rows
            span = _rest(span, rows[-1].place.depth, backwards)
            page = min(2 * page, max(MOST_IN_A_PAGE, page))


def _rest(span: Span, done: int, backwards: bool) -> Span | None:
    first, last = (span.first, done - 1) if backwards else (done + 1, span.last)
    return Span(span.segment, first, last) if first <= last else None

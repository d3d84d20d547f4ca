"""Reading messages: by where they stand, and by range."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

from ....errors import StoreCorruptError
from ....rules.tree import Place, Span
from ..errors import BehindError
from ..log_documents import LogDocument, LogKey, record_key
from ..place import log_of, segment_name
from ..rows import LogRow, edited_by, erased, rows_of
from ..state import Edited, MessagePlace
from ..view import LogView
from .logs import AsyncLogs

FIRST_PAGE = 16
MOST_IN_A_PAGE = 256
MOST_RANGES = 50


async def rows_at(
    logs: AsyncLogs, view: LogView, spots: Sequence[MessagePlace]
) -> dict[Place, LogRow]:
    """Read messages, deleted or not, by the records that appended them."""
    [rows] = await rows_at_in(logs, [(view, spots)])
    return rows


async def rows_at_in(
    logs: AsyncLogs, asked: Sequence[tuple[LogView, Sequence[MessagePlace]]]
) -> list[dict[Place, LogRow]]:
    """Read messages of several sessions, with one look for all of them."""
    every = await _by_record(logs, asked)
    for (_, spots), rows in zip(asked, every, strict=True):
        for spotted in spots:
            if spotted.place not in rows:
                raise StoreCorruptError(f"the record of the message at {spotted.place} is missing")
    views = [view for view, _ in asked]
    edited = await _as_edited_in(
        logs, [(view, list(rows.values())) for view, rows in zip(views, every, strict=True)]
    )
    return [{row.place: row for row in rows} for rows in edited]


async def _by_record(
    logs: AsyncLogs, asked: Sequence[tuple[LogView, Sequence[MessagePlace]]]
) -> list[dict[Place, LogRow]]:
    """Get messages by the names of their records, each of which is got once."""
    wanted = [_records_of(view, spots) for view, spots in asked]
    keys = list(dict.fromkeys(key for by_key in wanted for key in by_key))
    found = dict(zip(keys, await logs.driver.get(keys) if keys else [], strict=True))
    return [
        {
            row.place: row
            for key, places in by_key.items()
            if (stored := found[key]) is not None
            for row in rows_of(stored, _around(places))
            if row.place in places
        }
        for by_key in wanted
    ]


def _records_of(view: LogView, spots: Sequence[MessagePlace]) -> dict[LogKey, set[Place]]:
    wanted: dict[LogKey, set[Place]] = {}
    for spotted in spots:
        key = record_key(view.own.tree, log_of(spotted.place.segment), spotted.n)
        wanted.setdefault(key, set()).add(spotted.place)
    return wanted


def _around(places: Iterable[Place]) -> Span:
    """Return the span of positions that one record has."""
    return Span(min(places).segment, min(places).depth, max(places).depth)


async def row_at(logs: AsyncLogs, view: LogView, place: Place) -> LogRow:
    """Read the message at a position."""
    [row] = await rows_in_all(logs, view, [_around([place])])
    return row


async def rows_in_all(logs: AsyncLogs, view: LogView, spans: Sequence[Span]) -> list[LogRow]:
    """Read the messages of spans, deleted ones too, in their order."""
    cache = logs.driver.rows
    if cache is None:
        return await _as_edited(logs, view, await _appended(logs, view, spans))
    cache.keep(await _appended(logs, view, cache.missing(spans)))
    return await _as_edited(logs, view, cache.rows(spans))


async def _appended(logs: AsyncLogs, view: LogView, spans: Sequence[Span]) -> list[LogRow]:
    """Read the messages of spans as they were appended."""
    rows: list[LogRow] = []
    for start in range(0, len(spans), MOST_RANGES):
        some = spans[start : start + MOST_RANGES]
        found = _rows_inside(view.fetched, some)
        if len(found) < sum(it.last - it.first + 1 for it in some):
            ranges = [(segment_name(it.segment), it.first, it.last) for it in some]
            found = _rows_inside(await logs.driver.spans(view.own.tree, ranges), some)
        rows += await _complete(logs, view, some, found)
    return rows


def _rows_inside(records: Iterable[LogDocument], spans: Sequence[Span]) -> dict[Place, LogRow]:
    by_name: dict[str, list[Span]] = {}
    for span in spans:
        by_name.setdefault(segment_name(span.segment), []).append(span)
    rows: dict[Place, LogRow] = {}
    for stored in records:
        for span in by_name.get(stored.segment, ()):
            for row in rows_of(stored, span):
                rows[row.place] = row
    return rows


async def _complete(
    logs: AsyncLogs, view: LogView, spans: Sequence[Span], rows: dict[Place, LogRow]
) -> list[LogRow]:
    """Return the rows in the order of their spans; what a question did not see is got by name."""
    places = [
        Place(span.segment, depth) for span in spans for depth in range(span.first, span.last + 1)
    ]
    missing = [place for place in places if place not in rows]
    if missing:
        rows = rows | await _by_name(logs, view, missing)
        missing = [place for place in missing if place not in rows]
    if missing:
        await logs.driver.refresh()
        ranges = [(segment_name(it.segment), it.first, it.last) for it in spans]
        rows = rows | _rows_inside(await logs.driver.spans(view.own.tree, ranges), spans)
        missing = [place for place in missing if place not in rows]
    if missing:
        raise StoreCorruptError(
            f"the message at depth {missing[0].depth} of segment"
            f" {segment_name(missing[0].segment)} is missing"
        )
    return [rows[place] for place in places]


async def _by_name(logs: AsyncLogs, view: LogView, missing: Sequence[Place]) -> dict[Place, LogRow]:
    wanted = set(missing)
    spots = [
        spotted
        for log in {log_of(place.segment) for place in missing}
        for spotted in view.states[log].recent.values()
        if spotted.place in wanted
    ]
    [rows] = await _by_record(logs, [(view, spots)])
    return rows


async def _as_edited(logs: AsyncLogs, view: LogView, rows: Sequence[LogRow]) -> list[LogRow]:
    """Return messages as they are now; begin again when a record was cleared up since."""
    [edited] = await _as_edited_in(logs, [(view, rows)])
    return edited


async def _as_edited_in(
    logs: AsyncLogs, asked: Sequence[tuple[LogView, Sequence[LogRow]]]
) -> list[list[LogRow]]:
    """Return messages of several sessions as they are now, with one look for all of them."""
    changes = [_changes(view, rows) for view, rows in asked]
    named = [_edits(view, some) for (view, _), some in zip(asked, changes, strict=True)]
    keys = list(dict.fromkeys(key for names in named for key in names.values()))
    found = dict(zip(keys, await logs.driver.get(keys) if keys else [], strict=True))
    edited: list[list[LogRow]] = []
    for (_, rows), some, names in zip(asked, changes, named, strict=True):
        if not some:
            edited.append(list(rows))
            continue
        edits = {place: found[key] for place, key in names.items()}
        edited.append([_as_is(row, some.get(row.place), edits.get(row.place)) for row in rows])
    return edited


def _edits(view: LogView, changes: Mapping[Place, Edited]) -> dict[Place, LogKey]:
    """Return the records by which messages were edited that are still there."""
    return {
        place: record_key(view.own.tree, log_of(place.segment), it.n)
        for place, it in changes.items()
        if not it.is_erased
    }


def _changes(view: LogView, rows: Sequence[LogRow]) -> dict[Place, Edited]:
    """Return which messages are not as they were appended."""
    changes: dict[Place, Edited] = {}
    for row in rows:
        edited = view.edited(row.place) if view.has_edits else None
        if edited is not None:
            changes[row.place] = edited
        elif row.body is None:
            raise BehindError
    return changes


def _as_is(row: LogRow, edited: Edited | None, stored: LogDocument | None) -> LogRow:
    if edited is None:
        return row
    if edited.is_erased:
        return erased(row)
    made = edited_by(row, stored, edited)
    if made is None:
        raise BehindError
    return made


async def stream(
    logs: AsyncLogs,
    view: LogView,
    spans: Sequence[Span],
    *,
    backwards: bool,
    page: int | None,
) -> AsyncIterator[list[LogRow]]:
    """Read the messages of spans, in that order; all at once, or beginning with so many."""
    if page is None:
        if spans:
            ordered = [*reversed(spans)] if backwards else spans
            rows = await rows_in_all(logs, view, ordered)
            yield rows[::-1] if backwards else rows
        return
    for whole in spans:
        span: Span | None = whole
        while span is not None:
            some, span = _split(span, page, backwards)
            rows = await rows_in_all(logs, view, [some])
            yield rows[::-1] if backwards else rows
            page = min(2 * page, max(MOST_IN_A_PAGE, page))


def _split(span: Span, count: int, backwards: bool) -> tuple[Span, Span | None]:
    """Return so many positions of a span, from its end or its beginning, and the rest."""
    segment, first, last = span
    if last - first < count:
        return span, None
    if backwards:
        return Span(segment, last - count + 1, last), Span(segment, first, last - count)
    return Span(segment, first, first + count - 1), Span(segment, first + count, last)

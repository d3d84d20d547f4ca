"""Reading messages: by their ids, by where they stand, and by range."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import islice

from ....errors import StoreCorruptError
from ....rules.tree import Place, Span
from ...base.refusals import no_message
from ..errors import BehindError
from ..log_documents import LogDocument, LogKey, id_key, record_key, spotted_by
from ..rows import LogRow, Rewordings, rows_of
from ..state import Edited, LogState, MessagePlace
from ..view import LogView
from ..work import log_of, segment_name
from .logs import AsyncLogs

FIRST_PAGE = 16
MOST_IN_A_PAGE = 256
MOST_RANGES = 50


async def find_places(
    logs: AsyncLogs, state: LogState, ids: Iterable[str]
) -> dict[str, MessagePlace]:
    """Find where messages stand that a session sees, deleted or not: one probe for each home."""
    [found] = await find_places_in(logs, [(state, list(ids))])
    return found


async def find_places_in(
    logs: AsyncLogs, asked: Sequence[tuple[LogState, Sequence[str]]]
) -> list[dict[str, MessagePlace]]:
    """Find where messages of several sessions stand, with one look for all of them."""
    probes = [_probes(state, ids) for state, ids in asked]
    keys = [key for some in probes for _, _, key in some]
    answers = iter(await logs.driver.get(keys) if keys else [])
    found: list[dict[str, MessagePlace]] = []
    for (state, ids), some in zip(asked, probes, strict=True):
        spots = {id: state.recent[id] for id in ids if id in state.recent}
        inherited: dict[str, list[MessagePlace]] = {}
        for (id, log, _), stored in zip(some, islice(answers, len(some)), strict=True):
            if stored is None:
                continue
            spotted = spotted_by(stored, log)
            if log != state.log:
                inherited.setdefault(id, []).append(spotted)
            elif spotted.n > state.n:
                raise BehindError
            else:
                spots[id] = spotted
        await _add_inherited(logs, state, spots, inherited)
        found.append(spots)
    return found


def _probes(state: LogState, ids: Iterable[str]) -> list[tuple[str, str, LogKey]]:
    """Return the look-ups of ids that are not recent: the id, the home, and the name."""
    homes = [(state.log, state.epoch), *(state.homes if state.fork else [])]
    return [
        (id, log, id_key(state.tree, log, epoch, id))
        for id in dict.fromkeys(ids)
        if id not in state.recent
        for log, epoch in homes
    ]


async def _add_inherited(
    logs: AsyncLogs,
    state: LogState,
    found: dict[str, MessagePlace],
    inherited: dict[str, list[MessagePlace]],
) -> None:
    """Add what stands on the path to the fork point, of ids that are not the session's own."""
    if all(id in found for id in inherited):
        return
    view = await logs.view(state)
    for id, spots in inherited.items():
        for spotted in spots:
            if id not in found and view.on_path(spotted.place, state.fork):
                found[id] = spotted


async def get_place(logs: AsyncLogs, state: LogState, id: str) -> MessagePlace:
    """Get where a message stands that a session sees."""
    found = await find_places(logs, state, [id])
    if id not in found:
        raise no_message(state.session, id)
    return found[id]


async def get_row(logs: AsyncLogs, view: LogView, id: str) -> LogRow:
    """Get a message that a session sees, deleted or not, by its id."""
    [row] = (await rows_at(logs, view, [await get_place(logs, view.own, id)])).values()
    return row


async def find_rows(logs: AsyncLogs, view: LogView, ids: Iterable[str]) -> list[LogRow]:
    """Find messages that a session sees, deleted or not, by their ids."""
    spots = await find_places(logs, view.own, ids)
    return list((await rows_at(logs, view, list(spots.values()))).values())


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
    appended: list[tuple[LogView, list[LogRow]]] = []
    for (view, spots), rows in zip(asked, await _by_record(logs, asked), strict=True):
        for spotted in spots:
            if spotted.place not in rows:
                raise StoreCorruptError(f"the record of the message at {spotted.place} is missing")
        appended.append((view, list(rows.values())))
    edited = await _as_edited(logs, appended)
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
    rows = await _appended(logs, view, spans if cache is None else cache.missing(spans))
    if cache is not None:
        cache.keep(rows)
        rows = cache.rows(spans)
    [edited] = await _as_edited(logs, [(view, rows)])
    return edited


async def _appended(logs: AsyncLogs, view: LogView, spans: Sequence[Span]) -> list[LogRow]:
    """Read the messages of spans as they were appended."""
    rows: list[LogRow] = []
    for start in range(0, len(spans), MOST_RANGES):
        some = spans[start : start + MOST_RANGES]
        found = _rows_inside(view.fetched, some)
        if len(found) < sum(it.last - it.first + 1 for it in some):
            found = await _by_range(logs, view, some)
        rows += await _complete(logs, view, some, found)
    return rows


async def _by_range(logs: AsyncLogs, view: LogView, spans: Sequence[Span]) -> dict[Place, LogRow]:
    ranges = [(segment_name(it.segment), it.first, it.last) for it in spans]
    return _rows_inside(await logs.driver.spans(view.own.tree, ranges), spans)


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
        rows = rows | await _by_range(logs, view, spans)
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


async def _as_edited(
    logs: AsyncLogs, asked: Sequence[tuple[LogView, Sequence[LogRow]]]
) -> list[list[LogRow]]:
    """Return messages of several sessions as they are now, with one look for all of them.

    Begin again when a record was cleared up since.
    """
    changes = [_changes(view, rows) for view, rows in asked]
    anew = [_data_anew(view, rows) for view, rows in asked]
    keys = dict.fromkeys(
        record_key(view.own.tree, log_of(place.segment), n)
        for (view, _), some, data in zip(asked, changes, anew, strict=True)
        for place, n in (*_edits_of(some), *data.items())
    )
    if not (keys or any(changes)):
        return [list(rows) for _, rows in asked]
    told = Rewordings(await logs.driver.get(list(keys)) if keys else [])
    return [
        [told.row(it, some.get(it.place), data.get(it.place, 0)) for it in rows]
        for (_, rows), some, data in zip(asked, changes, anew, strict=True)
    ]


def _edits_of(changes: Mapping[Place, Edited]) -> list[tuple[Place, int]]:
    """Return the records that edited messages which were not erased."""
    return [(place, it.n) for place, it in changes.items() if not it.is_erased]


def _data_anew(view: LogView, rows: Sequence[LogRow]) -> dict[Place, int]:
    """Return the records that wrote the data of messages anew."""
    if not view.has_data:
        return {}
    places = [row.place for row in rows if row.data is not None]
    return {place: n for place in places if (n := view.data_anew(place))}


def _changes(view: LogView, rows: Sequence[LogRow]) -> dict[Place, Edited]:
    """Return which messages are not as they were appended."""
    changes: dict[Place, Edited] = {}
    for row in rows:
        edited = view.edited(row.place) if view.has_edits else None
        if edited is not None:
            changes[row.place] = edited
        elif row.body is None and not row.is_mark:
            raise BehindError
    return changes


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

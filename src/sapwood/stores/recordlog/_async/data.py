"""Work on data at positions: versions are found by the states alone, and read by their records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from ....errors import StoreError
from ....model import ROOT, DataVersion, Position, Root
from ....rules.append_plan import refuse_stale_tip
from ....rules.codec import decode_json
from ....rules.data import without_field
from ....rules.tree import Place, Span
from ...base.refusals import no_position
from ..rows import LogRow
from ..session_record import tip_of
from ..state import LogState, MessagePlace
from ..view import LogView
from ..work import EraseField, log_of, number_of, public, to_wire
from .descendants import segments_of
from .leftovers import erase_leftovers
from .logs import AsyncLogs, AsyncLogSubject, Decision
from .rows import row_at, rows_at


class AsyncLogData(AsyncLogSubject):
    """Work on data at positions."""

    async def versions(
        self, owner: str, session: str, position: Position, most: int
    ) -> list[DataVersion]:
        """Return the versions at and above a position, the newest first."""

        async def work(view: LogView) -> list[DataVersion]:
            place = view.find_place(position)
            if place is None:
                raise no_position(session, position)
            places: list[Place] = []
            at = view.data_at(place)
            while at is not None and len(places) < most:
                places.append(at)
                at = view.data_at(view.before(at))
            rows = await data_rows(self._logs, view, places)
            return [version_of(view, row) for row in rows]

        return await self._logs.look(owner, session, work)

    async def erase(self, owner: str, session: str, field: str) -> int:
        """Take a field out of all versions that the session sees."""

        async def decide(state: LogState) -> Decision[int]:
            view = await self._logs.view(state)
            rows = await data_rows(self._logs, view, _all_versions(view))
            found = [row.place for row in rows if has_field(view, row, field)]
            if not found:
                return None, 0
            deepest: dict[int, int] = {}
            for segment, depth in found:
                deepest[segment] = max(depth, deepest.get(segment, 0))
            ends = [to_wire(Place(*it), state.log) for it in deepest.items()]
            return EraseField(await self._logs.now(), field, ends), len(found)

        state, count = await self._logs.change(owner, session, decide)
        # It is committed: what fails here is done by the next who comes by.
        with suppress(StoreError):
            await erase_leftovers(self._logs, state)
        return count


def has_field(view: LogView, row: LogRow, field: str) -> bool:
    """Whether a version has a field that is still there."""
    data = stored_data(view, row)
    return data is not None and without_field(data, field) is not data


def _all_versions(view: LogView) -> list[Place]:
    """Return where the versions stand that a session sees."""
    own = view.own
    spans = [Span(own.own(it), 1, own.segments[it - 1].last) for it in segments_of(own)]
    return [place for it in (*spans, *view.spans(own.fork)) for place in versions_in(view, it)]


def versions_in(view: LogView, span: Span) -> list[Place]:
    """Return where the versions stand that a span has."""
    versions = view.states[log_of(span.segment)].data.get(number_of(span.segment), {})
    return [Place(span.segment, it) for it in versions if span.first <= it <= span.last]


async def data_rows(logs: AsyncLogs, view: LogView, places: Iterable[Place]) -> list[LogRow]:
    """Read the positions at which there are versions."""
    spots = [
        MessagePlace(it, view.states[log_of(it.segment)].data[number_of(it.segment)][it.depth].n)
        for it in places
    ]
    rows = await rows_at(logs, view, spots) if spots else {}
    return [rows[it.place] for it in spots]


def stored_data(view: LogView, row: LogRow) -> bytes | None:
    """Return a position's own data as it is now."""
    return None if row.data is None else view.data_left(row.place, row.data)


def version_of(view: LogView, row: LogRow) -> DataVersion:
    """Return the version at a position as users see it."""
    return DataVersion(
        position=public(row.place),
        value=decode_json(stored_data(view, row) or b"", f"the data at {row.id!r}"),
        previous=view.public_data_at(view.before(row.place)),
        id=row.id,
        created_us=row.created_us,
    )


async def refuse_other_tip(logs: AsyncLogs, state: LogState, expected: str | Root | None) -> None:
    """Refuse a write that was decided on another tip; only marks may follow it."""
    if expected is not None:
        refuse_stale_tip(tip_of(state), expected, await marked(logs, state, [expected]))


async def marked(
    logs: AsyncLogs, state: LogState, expected: Sequence[str | Root]
) -> list[str | Root]:
    """Return the places that only marks follow, up to the tip, where none expected is the tip."""
    place = state.tip
    if tip_of(state) in expected or place is None or _is_message(state, place):
        return []
    view = await logs.view(state)
    found: list[str | Root] = []
    while place is not None and view.is_mark(place):
        place = view.before(place)
        found.append(ROOT if place is None else (await row_at(logs, view, place)).id)
    return found


def _is_message(state: LogState, place: Place) -> bool:
    """Whether a position is known to have a message, without a look at other logs."""
    if log_of(place.segment) == state.log:
        return not state.is_mark(place)
    return place == state.fork and state.fork_data != place


async def data_above(logs: AsyncLogs, state: LogState, after: Place | None) -> Place | None:
    """Return where the data stands that holds at a position, maybe of another log."""
    if after is None:
        return None
    if log_of(after.segment) == state.log:
        return state.data_at(after)
    if after == state.fork:
        return state.fork_data
    return (await logs.view(state)).data_at(after)

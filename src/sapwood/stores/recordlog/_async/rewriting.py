"""Work on things that are written anew as they lie: recorded by the state that they were found by.

Messages and data are written anew in the log that they were appended to, many in one record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from ....errors import StoreCorruptError, StoreError
from ....model import DataVersion, Document, Message, Overlay, Position, SessionRecord
from ....rules.codec import Packed, decode_json
from ....rules.rewriting import Replacement, is_still
from ....rules.tree import Place, Span
from ...base.refusals import no_position
from ..documents import document_of
from ..rows import LogRow, first_digest, message_of
from ..session_record import record_of
from ..state import LogState
from ..view import LogView
from ..work import (
    ChangeProfile,
    Edit,
    LogWork,
    PutDocument,
    RewriteData,
    combined,
    log_of,
    number_of,
    place_of,
    public,
    to_wire,
)
from .data import data_rows, stored_data, version_of, versions_in
from .descendants import segments_of, whole_segment
from .documents import values_of
from .history import covers_of, made_overlay
from .leftovers import erase_leftovers
from .logs import AsyncLogSubject, Decision
from .rows import rows_in_all
from .shelves import change_document

BYTES_IN_A_RECORD = 1024 * 1024

_Rows = dict[Place, LogRow]
_Numbered = tuple[int, Replacement]


class AsyncLogRewriting(AsyncLogSubject):
    """Work on things that are written anew."""

    async def replace(
        self, owner: str, session: str | None, changes: Sequence[Replacement]
    ) -> list[int]:
        """Replace what is still as it was given."""
        tree = ""
        if session is not None:
            state = await self._logs.current(owner, session)
            # What was erased through this session is to be erased where it stands, too.
            await erase_leftovers(self._logs, state)
            tree = state.tree
        lost: list[int] = []
        for group in _groups(changes):
            lost += await self._replace(owner, session, tree, group)
        return lost

    async def _replace(
        self, owner: str, session: str | None, tree: str, group: Sequence[_Numbered]
    ) -> list[int]:
        async def decide(state: LogState) -> Decision[list[int]]:
            return await self._decided(state, group)

        given = group[0][1].given
        if isinstance(given, Document) and session is None:
            changed = change_document(self._logs, owner, given.key, decide, is_put=False)
        elif isinstance(given, Message | DataVersion):
            changed = self._logs.change_log(tree, log_of(_place(given).segment), decide)
        else:
            assert session is not None
            changed = self._logs.change(owner, session, decide)
        state, lost = await changed
        # It is committed: what fails here is done by the next who comes by.
        with suppress(StoreError):
            await erase_leftovers(self._logs, state)
        return lost

    async def _decided(self, state: LogState, group: Sequence[_Numbered]) -> Decision[list[int]]:
        """Decide what is written anew, and name what is not as it was given."""
        view = await self._logs.view(state)
        rows = await self._rows(view, group)
        lost: list[int] = []
        works: list[LogWork] = []
        for at, change in group:
            work = await self._work(view, rows, change)
            if work is None:
                lost.append(at)
            else:
                works.append(work)
        return combined(works), lost

    async def _rows(self, view: LogView, group: Sequence[_Numbered]) -> _Rows:
        """Read the positions that are meant, as far as the log has them."""
        own = view.own
        spans: list[Span] = []
        for _, change in group:
            if isinstance(change.given, Message | DataVersion):
                segment, depth = _place(change.given)
                number = number_of(segment)
                if number <= len(own.segments) and depth <= own.segments[number - 1].last:
                    spans.append(Span(segment, depth, depth))
        try:
            rows = await rows_in_all(self._logs, view, spans) if spans else []
        except StoreCorruptError:
            if all(number_of(it.segment) > own.retired for it in spans):
                raise
            # Something was swept meanwhile: what is left is given once more.
            rows = []
        return {row.place: row for row in rows}

    async def _work(self, view: LogView, rows: _Rows, change: Replacement) -> LogWork | None:
        """Return how a thing is written anew; None when it is not as it was given."""
        state = view.own
        match change:
            case Replacement(Message() as given, _, Packed() as new):
                row = rows.get(_place(given))
                return None if row is None else _message(view, row, given, new)
            case Replacement(DataVersion() as given, _, bytes() as value):
                row = rows.get(_place(given))
                return None if row is None else _data(view, row, given, value)
            case Replacement(Overlay() as given, Overlay() as made, bytes() as metadata):
                return await self._overlay(state, given, made.summary, metadata)
            case Replacement(Document() as given, _, bytes() as value):
                return await self._document(state, given, value)
            case Replacement(SessionRecord() as given, SessionRecord() as made, bytes() as packed):
                if is_still(record_of(state, 0, None), given):
                    profile = replace(state.profile, title=made.title, attributes=packed)
                    return ChangeProfile(profile, as_it_lies=True)
        return None

    async def _overlay(
        self, state: LogState, given: Overlay, summary: str, metadata: bytes
    ) -> LogWork | None:
        laid = next((it for it in state.overlays if it.id == given.id), None)
        if laid is None:
            return None
        [work] = await covers_of(self._logs, state, [laid])
        if not is_still(made_overlay(laid, work), given):
            return None
        first, last = to_wire(laid.first, state.log), to_wire(laid.last, state.log)
        return replace(work, first=first, last=last, summary=summary, metadata=metadata)

    async def _document(self, state: LogState, given: Document, value: bytes) -> LogWork | None:
        key, kept = given.key, state.documents.get(given.key)
        if kept is None:
            return None
        [held] = await values_of(self._logs, [(state, key)])
        if not is_still(document_of(key, kept, held), given):
            return None
        times = kept.updated_us, kept.expires_us
        return PutDocument(key, *times, value, kept.inherit, as_it_lies=True)

    async def list_data(
        self, owner: str, session: str, after: Position | None, limit: int
    ) -> list[DataVersion]:
        """List the versions of what a session wrote, or sees of homes that are gone."""

        async def work(view: LogView) -> list[DataVersion]:
            own = view.own
            spans = [it for it in view.spans(own.fork) if view.home_of(it.segment) is None][::-1]
            spans += [whole_segment(own, number) for number in segments_of(own)]
            places = [place for span in spans for place in sorted(versions_in(view, span))]
            start = 0
            if after is not None:
                named = [public(place) for place in places]
                if after not in named:
                    raise no_position(session, after)
                start = named.index(after) + 1
            rows = await data_rows(self._logs, view, places[start : start + limit])
            return [version_of(view, row) for row in rows]

        return await self._logs.look(owner, session, work)


def _groups(changes: Sequence[Replacement]) -> Iterator[list[_Numbered]]:
    """Yield what goes into one record each, with its place in the list."""
    group: list[_Numbered] = []
    size, known = 0, ""
    for at, change in enumerate(changes):
        given, stored = change.given, change.stored
        # Those of a place of their own are not put together with others.
        name = str(at)
        if isinstance(given, Message | DataVersion):
            name = log_of(_place(given).segment)
        more = len(stored.body if isinstance(stored, Packed) else stored)
        if group and (name != known or size + more > BYTES_IN_A_RECORD):
            yield group
            group, size = [], 0
        group.append((at, change))
        size, known = size + more, name
    if group:
        yield group


def _place(given: Message | DataVersion) -> Place:
    place = place_of(given.position)
    assert place is not None
    return place


def _message(view: LogView, row: LogRow, given: Message, new: Packed) -> Edit | None:
    if row.body is None or row.id != given.id or not is_still(message_of(row, view), given):
        return None
    return Edit(
        at_us=0,
        number=number_of(row.place.segment),
        depth=row.place.depth,
        appended=row.n,
        id=row.id,
        version=row.version,
        original=row.original,
        tokens=row.tokens,
        created_us=row.created_us,
        role=row.role,
        digest=first_digest(row),
        body=new.body,
        as_it_lies=True,
    )


def _data(view: LogView, row: LogRow, given: DataVersion, value: bytes) -> RewriteData | None:
    data = stored_data(view, row)
    if data is None or decode_json(data, f"the data at {row.id!r}") != given.value:
        return None
    return RewriteData(number_of(row.place.segment), row.place.depth, value)

"""Appending: one record for a batch, decided by the state in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ....model import (
    ROOT,
    Appended,
    Message,
    Position,
    Root,
)
from ....rules.append_plan import KnownMessage, plan_append
from ....rules.codec import Packed
from ....rules.tree import Place
from ...base.append_request import Request
from ...base.refusals import (
    no_message,
    refuse_stale_data,
)
from ..extras import extra_works, refuse_by_extras, refuse_closed, versions_of
from ..rows import LogRow, first_digest, message_of
from ..session_record import tip_of
from ..state import LogState, MessagePlace
from ..view import LogView
from ..work import (
    Append,
    AppendedMessage,
    CombinedWork,
    log_of,
    number_of,
    public,
    segment_name,
    to_wire,
)
from .data import data_above, marked, stored_data
from .logs import AsyncLogs, Decision
from .overlays import refuse_changed
from .rows import find_places, row_at, rows_at

AppendTarget = str | Root | None


class _AppendAnswer(NamedTuple):
    """What an append found stored, what of that elsewhere, what was new, how that is recorded."""

    stored: list[Message] = []
    known: list[str] = []
    elsewhere: list[str] = []
    new: Sequence[Packed] = ()
    work: Append | None = None
    data_at: Place | None = None


class AsyncLogAppend:
    """One append: what it asked for, and what it found."""

    def __init__(self, logs: AsyncLogs, request: Request) -> None:
        self._logs = logs
        self._request = request
        self._batch, self._parent = request.batch, request.parent
        self._extras = request.extras
        self._asked = [it.id for it in self._batch if not it.is_ours]
        if isinstance(self._parent, str):
            self._asked.append(self._parent)

    async def run(self) -> Appended:
        """Append what is new of the batch."""
        request = self._request
        state, told = await self._logs.change(request.owner, request.session, self._decide)
        new = [] if told.work is None else _appended(state, told.work, told.new)
        return Appended(
            messages=[*told.stored, *new],
            written=len(told.new),
            tip=tip_of(state),
            documents=versions_of(state, self._extras.documents),
            known=told.known,
            elsewhere=told.elsewhere,
            data_at=self._data_at(state, told),
        )

    def _data_at(self, state: LogState, told: _AppendAnswer) -> Position | None:
        """Return where the data stands that was given."""
        if self._request.data is None:
            return None
        at = state.tip if told.data_at is None else told.data_at
        return at and public(at)

    async def _decide(self, state: LogState) -> Decision[_AppendAnswer]:
        spots = await find_places(self._logs, state, self._asked) if self._asked else {}
        rows, view = await self._stored(state, spots)
        seen = await self._known(rows, view) if view is not None else {}
        expected_tip = self._request.expected_tip
        guards = (self._parent, expected_tip, self._request.on_known)
        above = await self._marked(state, expected_tip)
        plan = plan_append(self._batch, seen, tip_of(state), *guards, above)
        new = plan.batch[plan.known :]
        if new:
            refuse_by_extras(state, self._extras)
            refuse_closed(state)
        after, base = await self._place(state, plan.parent, spots)
        told = _AppendAnswer()
        if view is not None:
            places = [spots[it.id].place for it in plan.batch[: plan.known]]
            stored = [message_of(rows[it], view) for it in places if not rows[it].is_mark]
            known = [rows[it].id for it in places]
            elsewhere = [rows[it].id for it in places if not view.on_path(it, after)]
            told = _AppendAnswer(stored, known, elsewhere)
        last = self._batch[-1].id
        if last in told.known:
            told = told._replace(data_at=spots[last].place)
        if not new:
            return None, told
        await self._refuse_changed(state, after)
        data = await data_above(self._logs, state, after)
        refuse_stale_data(data and public(data), self._request.expected_data)
        now = await self._logs.now()
        work = _append_after(state, new, after, base, now)
        if work.is_new and data is not None:
            work = replace(work, data_at=to_wire(data, state.log))
        works = CombinedWork(work, extra_works(state, self._extras, now))
        return works, told._replace(new=new, work=work)

    async def _marked(
        self, state: LogState, expected_tip: str | Root | None
    ) -> Sequence[str | Root]:
        """Return the places that only marks follow, where one of them may be expected."""
        if expected_tip is None:
            return ()
        return await marked(self._logs, state, [expected_tip, *(it.id for it in self._batch)])

    async def _refuse_changed(self, state: LogState, after: Place | None) -> None:
        snapshot = self._request.expected_snapshot
        if snapshot is not None:
            refuse_changed(self._logs, await self._logs.view(state), 1, after, snapshot)

    async def _stored(
        self, state: LogState, spots: dict[str, MessagePlace]
    ) -> tuple[dict[Place, LogRow], LogView | None]:
        """Read what of the batch is stored."""
        known = [spots[it.id] for it in self._batch if it.id in spots]
        if not known:
            return {}, None
        view = await self._logs.view(state)
        return await rows_at(self._logs, view, known), view

    async def _known(self, rows: dict[Place, LogRow], view: LogView) -> dict[str, KnownMessage]:
        known: dict[str, KnownMessage] = {}
        for row in rows.values():
            parent: str | Root = ""
            if self._parent is not None:
                before = view.before(row.place)
                parent = ROOT
                if before is not None:
                    parent = (await row_at(self._logs, view, before)).id
            data = stored_data(view, row)
            known[row.id] = KnownMessage(first_digest(row), parent, data)
        return known

    async def _place(
        self, state: LogState, parent: AppendTarget, spots: dict[str, MessagePlace]
    ) -> tuple[Place | None, int]:
        """Return the position that the batch follows, and the tokens down to it."""
        if parent is None or parent == state.tip_id:
            return state.tip, state.tip_base
        if isinstance(parent, Root):
            return None, 0
        if parent not in spots:
            raise no_message(state.session, parent)
        view = await self._logs.view(state)
        rows = await rows_at(self._logs, view, [spots[parent]])
        return spots[parent].place, rows[spots[parent].place].base


def _append_after(
    state: LogState, batch: Sequence[Packed], after: Place | None, base: int, now: int
) -> Append:
    """Return the record of messages that follow a position: in its segment, if that ends there."""
    said = [
        AppendedMessage(
            it.id,
            it.role,
            it.tokens,
            now if it.created_us is None else it.created_us,
            None if it.is_mark else it.body,
            digest=it.given_digest,
            data=it.data,
        )
        for it in batch
    ]
    first = 1 if after is None else after.depth + 1
    if after is not None and log_of(after.segment) == state.log:
        number = number_of(after.segment)
        if number > state.retired and state.segments[number - 1].last == after.depth:
            return Append(now, number, first, False, None, base, said)
    parent = after and to_wire(after, state.log)
    return Append(now, len(state.segments) + 1, first, True, parent, base, said)


def _appended(state: LogState, work: Append, batch: Sequence[Packed]) -> list[Message]:
    """Return the messages of a batch as they were stored."""
    segment = segment_name(state.own(work.number))
    return [
        Message(
            id=it.id,
            role=it.role,
            parts=it.parts,
            metadata=it.metadata,
            extra=it.extra,
            name=it.name,
            segment=segment,
            depth=depth,
            home=state.session,
            tokens=it.tokens,
            version=1,
            created_us=said.created_us,
            data_at=_public_data_at(state, Place(state.own(work.number), depth)),
        )
        for depth, (it, said) in enumerate(zip(batch, work.messages, strict=True), work.first)
        if not it.is_mark
    ]


def _public_data_at(state: LogState, place: Place) -> Position | None:
    at = state.data_at(place)
    return at and public(at)
